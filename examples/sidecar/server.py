"""A game server beside `director sidecar`, with the standard library alone. Players send their session token as the first line; the game is an echo."""
import http.client, json, os, socket, socketserver, threading, time, urllib.error, urllib.request

SIDECAR = os.environ.get("SIDECAR", "http://127.0.0.1:9357")
connections, kicked = {}, set()  # by the id of a player; ids whose player may not play on
about = {"region": "local", "modes": ["duel"], "capacity": 64}  # and the endpoint, once it listens


def call(method, path, body=None):
    """Calls the sidecar. Returns the status and the answer; 503 also while the sidecar cannot be reached."""
    request = urllib.request.Request(SIDECAR + path, json.dumps(body or {}).encode(), {"Content-Type": "application/json"}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=15) as answer:
            return answer.status, json.loads(answer.read() or "null")
    except urllib.error.HTTPError as refused:
        return refused.code, json.loads(refused.read())
    except OSError as e:
        return 503, {"code": "unavailable", "detail": str(e)}


def ready():
    """The director may be away for a while: 503 says try again."""
    while True:
        status, answer = call("POST", "/ready", about)
        if status == 200:
            return answer
        if status != 503:
            raise SystemExit(f"not registered: {answer['detail']}")
        time.sleep(1)


def health():
    """A real game calls this in its game loop, so that a frozen loop counts as a frozen game server."""
    while True:
        call("POST", "/health")
        time.sleep(5)


def events():
    """Disconnects the players who may not play on, and ends with the registration."""
    while True:
        try:
            with urllib.request.urlopen(SIDECAR + "/events") as stream:
                name = ""
                for line in stream:
                    word, _, text = line.decode().strip().partition(": ")
                    if word == "event":
                        name = text
                    elif word == "data":
                        hear(name, json.loads(text))
        except (OSError, http.client.HTTPException):
            time.sleep(1)


def hear(name, data):
    if name == "kick":
        kick(data["id"])
    elif name == "players":  # the stream begins: kicks before it were not heard. Players who joined since then are not in data
        here = set(connections)
        status, answer = call("GET", "/players")
        for player in here - {p["id"] for p in answer["players"]} if status == 200 else ():
            kick(player)
    elif name == "status" and data["state"] in ("ended", "superseded"):
        print("over:", data["state"], flush=True)
        os._exit(0)
    elif name == "status" and data["state"] == "unhealthy":
        ready()  # this process was frozen, and goes on
    elif name == "status" and data["unwanted"]:
        call("POST", "/shutdown")


def kick(player):
    """Player.handle may not know the player yet: it looks into kicked."""
    kicked.add(player)
    try:
        if player in connections:
            connections[player].shutdown(socket.SHUT_RDWR)
    except (KeyError, OSError):
        pass  # the player has just left


class Player(socketserver.StreamRequestHandler):
    def handle(self):
        status, player = call("POST", "/players", {"token": self.rfile.readline(4096).decode("ascii", "replace").strip()})
        if status != 200:
            return self.send(f"refused: {player['code']}")
        connections[player["id"]] = self.connection
        try:
            self.send(f"welcome {player['sub']} to a {player['mode']} for {player['max_players']}")
            if player["id"] in kicked:
                return
            for line in self.rfile:
                self.send("you said: " + line.decode().strip())
        except OSError:
            pass  # the connection broke, or was closed by a kick
        finally:
            del connections[player["id"]]
            kicked.discard(player["id"])
            call("DELETE", "/players/" + player["id"])

    def send(self, line):
        self.wfile.write((line + "\n").encode())


if __name__ == "__main__":
    socketserver.ThreadingTCPServer.daemon_threads = True
    with socketserver.ThreadingTCPServer(("127.0.0.1", int(os.environ.get("PORT", "0"))), Player) as server:
        about["endpoint"] = f"127.0.0.1:{server.server_address[1]}"
        print("registered:", ready()["instance_id"], flush=True)
        threading.Thread(target=health, daemon=True).start()
        threading.Thread(target=events, daemon=True).start()
        server.serve_forever()
