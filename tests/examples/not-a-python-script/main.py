import requests

print(requests)
