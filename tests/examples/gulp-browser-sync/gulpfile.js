require("browser-sync");
