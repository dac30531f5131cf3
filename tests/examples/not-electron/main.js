require("electron");
