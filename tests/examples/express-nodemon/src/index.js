require("./app").listen(require("./config").port);
