module.exports = { devServer: { hot: true, port: 9090 } };
