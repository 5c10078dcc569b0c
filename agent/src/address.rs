//! Where a server listens: `HOST:PORT`, `:PORT` for every address of the machine, `0` for nowhere.

use std::fmt;
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

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nowhere => formatter.write_str("0"),
            Self::Everywhere(port) => write!(formatter, ":{port}"),
            Self::At(address) => address.fmt(formatter),
        }
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

/// An address that only processes of the same pod reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Loopback(pub(crate) Address);

// === impl Loopback ===

impl FromStr for Loopback {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let address: Address = text.parse()?;
        match address {
            Address::Nowhere => Ok(Self(address)),
            Address::At(at) if at.ip().is_loopback() => Ok(Self(address)),
            Address::At(_) | Address::Everywhere(_) => Err(format!(
                "{text} is reached from the pod network, where nothing may listen without asking who calls; give an address of loopback such as 127.0.0.1:9443, which a port-forward reaches"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::{Address, Loopback};

    #[rstest]
    #[case::default("127.0.0.1:9443", true)]
    #[case::ipv6("[::1]:9443", true)]
    #[case::nowhere("0", true)]
    #[case::everywhere(":9443", false)]
    #[case::unspecified("0.0.0.0:9443", false)]
    #[case::of_the_pod("10.0.0.7:9443", false)]
    #[case::mapped("[::ffff:10.0.0.7]:9443", false)]
    fn only_loopback_is_taken(#[case] text: &str, #[case] expected: bool) {
        assert_eq!(text.parse::<Loopback>().is_ok(), expected);
    }

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
