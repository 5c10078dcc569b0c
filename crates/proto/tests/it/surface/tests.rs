use protox::file::{File, FileResolver, GoogleFileResolver};
use rstest::rstest;

use super::Surface;

const PUBLIC: &str = r#"
    syntax = "proto3";
    package demo;
    import "google/protobuf/wrappers.proto";
    message Cart {
        string owner = 1;
        repeated Colour colours = 2;
        google.protobuf.BoolValue paid = 3;
        oneof choice { Cart inner = 4; bool empty = 5; }
        message Item { optional uint32 price = 1; }
        repeated Item items = 6;
    }
    enum Colour { NONE = 0; RED = 1; }
    enum Shade { DARK = 0; }
    service Shop { rpc Buy(Cart) returns (stream Cart); }
"#;

struct Source(String);

impl FileResolver for Source {
    fn open_file(&self, name: &str) -> Result<File, protox::Error> {
        match name {
            "demo.proto" => File::from_source(name, &self.0),
            _ => GoogleFileResolver::new().open_file(name),
        }
    }
}

/// The surface of the definition above, with one piece of its text replaced.
fn doctored(from: &str, to: &str) -> Surface {
    assert!(PUBLIC.contains(from), "nothing to doctor: {from}");
    let source = Source(PUBLIC.replacen(from, to, 1));
    let mut compiler = protox::Compiler::with_file_resolver(source);
    compiler.include_imports(true).open_file("demo.proto").expect("the definition compiles");
    Surface::new(&compiler.file_descriptor_set())
}

#[rstest]
#[case::nothing("")]
#[case::a_field("string owner = 1;")]
#[case::a_member_of_a_oneof("bool empty = 5;")]
#[case::a_value("RED = 1;")]
#[case::a_method("rpc Buy(Cart) returns (stream Cart);")]
#[case::an_enum("enum Shade { DARK = 0; }")]
fn leaving_something_out_is_no_difference(#[case] from: &str) {
    assert_eq!(doctored(from, "").differences(&doctored("", "")), [""; 0]);
}

#[rstest]
#[case::number(
    "string owner = 1",
    "string owner = 9",
    "demo.Cart.owner is field 9 string, but publicly field 1 string"
)]
#[case::scalar(
    "string owner",
    "bytes owner",
    "demo.Cart.owner is field 1 bytes, but publicly field 1 string"
)]
#[case::named_type(
    "repeated Colour",
    "repeated Shade",
    "demo.Cart.colours is field 2 repeated enum .demo.Shade, but publicly field 2 repeated enum .demo.Colour"
)]
#[case::wrapper(
    "google.protobuf.BoolValue paid",
    "google.protobuf.UInt32Value paid",
    "demo.Cart.paid is field 3 message .google.protobuf.UInt32Value, but publicly field 3 message .google.protobuf.BoolValue"
)]
#[case::label(
    "repeated Item items",
    "Item items",
    "demo.Cart.items is field 6 message .demo.Cart.Item, but publicly field 6 repeated message .demo.Cart.Item"
)]
#[case::presence(
    "string owner",
    "optional string owner",
    "demo.Cart._owner is a oneof, but publicly nothing"
)]
#[case::packing(
    "colours = 2",
    "colours = 2 [packed = false]",
    "demo.Cart.colours is field 2 repeated enum .demo.Colour packed false, but publicly field 2 repeated enum .demo.Colour"
)]
#[case::oneof(
    "bool empty = 5; }",
    "} bool empty = 5;",
    "demo.Cart.empty is field 5 bool, but publicly field 5 bool in oneof choice"
)]
#[case::unknown_field(
    "string owner",
    "string buyer = 8; string owner",
    "demo.Cart.buyer is field 8 string, but publicly nothing"
)]
#[case::unknown_message(
    "enum Shade",
    "message Till {} enum Shade",
    "demo.Till is a message, but publicly nothing"
)]
#[case::value("RED = 1", "RED = 2", "demo.Colour.RED is value 2, but publicly value 1")]
#[case::unknown_value(
    "RED = 1;",
    "RED = 1; BLUE = 2;",
    "demo.Colour.BLUE is value 2, but publicly nothing"
)]
#[case::streaming(
    "returns (stream Cart)",
    "returns (Cart)",
    "demo.Shop.Buy is a method (.demo.Cart) returns (.demo.Cart), but publicly a method (.demo.Cart) returns (stream .demo.Cart)"
)]
#[case::method(
    "rpc Buy",
    "rpc Sell",
    "demo.Shop.Sell is a method (.demo.Cart) returns (stream .demo.Cart), but publicly nothing"
)]
fn a_deviation_is_a_difference(#[case] from: &str, #[case] to: &str, #[case] expected: &str) {
    let differences = doctored(from, to).differences(&doctored("", ""));
    assert_eq!(differences.first().map(String::as_str), Some(expected));
}
