export default function Page() {
  return <h1>Example</h1>;
}
