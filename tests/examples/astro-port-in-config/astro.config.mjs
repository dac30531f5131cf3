export default { server: { host: true, port: 8788 } };
