module.exports = require("express")();
