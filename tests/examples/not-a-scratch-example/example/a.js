require("..").listen(3000);
