export default () => "Example";
