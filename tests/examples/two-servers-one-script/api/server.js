require("express")().listen(3001);
