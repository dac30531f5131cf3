module.exports = { devServer: { port: 8081 } };
