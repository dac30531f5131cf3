"""What tests ask sandboxes to do with the small internet, and the rules that they set for it."""

from rule_world import API, OTHER
from vercel.sandbox import (
    NetworkPolicy,
    NetworkPolicyRequestMatcher,
    NetworkPolicyResponse,
    NetworkPolicyRule,
    NetworkPolicyTransform,
    Sandbox,
)

SECRET = "the-secret-that-no-sandbox-sees"
FETCH = """
import sys, urllib.request, urllib.error
url, method, body, *headers = sys.argv[1:]
asked = urllib.request.Request(url, method=method, data=body.encode() or None)
for header in headers:
    asked.add_header(*header.split("=", 1))
try:
    answer = urllib.request.urlopen(asked, timeout=20)
except urllib.error.HTTPError as error:
    answer = error
except OSError as error:
    print("failed", getattr(error, "reason", error)); sys.exit()
print(answer.status, answer.read().decode())
"""
SPEAK = """
import socket, ssl, sys
host, port, server_name, request = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
connection = socket.create_connection((host, port), 20)
try:
    if server_name != "-":
        context = ssl._create_unverified_context()
        connection = context.wrap_socket(connection, server_hostname=server_name or None)
    connection.sendall(request.encode().decode("unicode_escape").encode())
    print(connection.recv(4096).split(b"\\r\\n")[0].decode() or "closed")
except OSError as error:
    print("cut")
"""


def injection(**match: object) -> NetworkPolicyRule:
    matcher = NetworkPolicyRequestMatcher(**match) if match else None
    headers = {"Authorization": f"Bearer {SECRET}"}
    return NetworkPolicyRule(match=matcher, transform=[NetworkPolicyTransform(headers=headers)])


def answer(status: int, body: str, **match: object) -> NetworkPolicyRule:
    matcher = NetworkPolicyRequestMatcher(**match) if match else None
    response = NetworkPolicyResponse(status_code=status, body=body, content_type="text/plain")
    return NetworkPolicyRule(match=matcher, response=response)


def custom(**rules: list) -> NetworkPolicy:
    return NetworkPolicy.custom({API: rules.get("api", []), OTHER: rules.get("other", [])})


async def fetch(sandbox: Sandbox, url: str, method: str = "GET", body: str = "", *headers: str) -> str:
    ran = await sandbox.run_process("/usr/bin/python3", ["-c", FETCH, url, method, body, *headers], capture_output=True)
    return (ran.stdout + ran.stderr).strip()


async def speak(sandbox: Sandbox, host: str, port: int, server_name: str, request: str) -> str:
    argv = ["-c", SPEAK, host, str(port), server_name, request]
    ran = await sandbox.run_process("/usr/bin/python3", argv, capture_output=True)
    return (ran.stdout + ran.stderr).strip()


def request(host: str, target: str = "/") -> str:
    return f"GET {target} HTTP/1.1\\r\\nHost: {host}\\r\\n\\r\\n"
