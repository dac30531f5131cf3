const next = require("next");
const port = parseInt(process.env.PORT, 10) || 3100;
require("express")().listen(port);
