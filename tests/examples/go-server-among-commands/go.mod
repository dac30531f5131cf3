module example

go 1.24
