fn main() {
    let address = "0.0.0.0:3005";
}
