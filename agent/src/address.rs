//! Where a server listens: `HOST:PORT`, `:PORT` for every address of the machine, `0` for nowhere.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

use tokio::net::TcpListener;

/// An address to listen on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Address {
    Nowhere,
    Everywhere(u16),
    At(SocketAddr),
}

// === impl Address ===

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "0" {
            return Ok(Self::Nowhere);
        }
        if let Some(port) = text.strip_prefix(':') {
            return port.parse().map(Self::Everywhere).map_err(|_| format!("{port} is no port"));
        }
        text.parse().map(Self::At).map_err(|_| {
            "an address is ADDRESS:PORT, :PORT for every address, or 0 for none".to_owned()
        })
    }
}

impl Address {
    /// Begins to listen. Where there is no IPv6, every address is every IPv4 address.
    pub(crate) async fn listen(self) -> std::io::Result<Option<TcpListener>> {
        match self {
            Self::Nowhere => Ok(None),
            Self::At(address) => TcpListener::bind(address).await.map(Some),
            Self::Everywhere(port) => {
                match TcpListener::bind((Ipv6Addr::UNSPECIFIED, port)).await {
                    Ok(listener) => Ok(Some(listener)),
                    Err(_) => TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)).await.map(Some),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::Address;

    #[rstest]
    #[case("0", Ok(Address::Nowhere))]
    #[case(":8081", Ok(Address::Everywhere(8081)))]
    #[case("127.0.0.1:9443", Ok(Address::At(([127, 0, 0, 1], 9443).into())))]
    #[case(":http", Err("http is no port"))]
    #[case("8081", Err("an address is ADDRESS:PORT, :PORT for every address, or 0 for none"))]
    fn addresses_are_read(#[case] text: &str, #[case] expected: Result<Address, &str>) {
        assert_eq!(text.parse(), expected.map_err(str::to_owned));
    }
}
