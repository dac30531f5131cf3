module.exports = { port: process.env.PORT || 4000 };
