"""A game server beside `director sidecar`, with the standard library alone. Players send their session token as the
first line; the game is an echo."""
import http.client, json, os, socket, socketserver, threading, time, urllib.error, urllib.request

SIDECAR = os.environ.get("SIDECAR", "http://127.0.0.1:9357")
connections = {}  # by the id of a player
kicked = set()  # ids of players who may not play on
about = {"region": "local", "modes": ["duel"], "capacity": 64}  # and the endpoint, once it listens


def call(method, path, body=None):
    """Calls the sidecar. Returns the status and the answer; 503 also while the sidecar cannot be reached."""
    request = urllib.request.Request(SIDECAR + path, json.dumps(body or {}).encode(),
        {"Content-Type": "application/json"}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=15) as answer:
            return answer.status, json.loads(answer.read() or "null")
    except urllib.error.HTTPError as refused:
        return refused.code, json.loads(refused.read())
    except OSError as e:
        return 503, {"code": "unavailable", "detail": str(e)}


def ready():
    """Registers the game server, and returns the answer. The director may be away for a while: 503 says try again."""
    while True:
        status, answer = call("POST", "/ready", about)
        if status == 200:
            return answer
        if status != 503:
            raise SystemExit(f"not registered: {answer['detail']}")
        time.sleep(1)


def health():
    """Reports every 5 seconds that the game server is alive. A real game reports it in its game loop, so that a frozen
    loop counts as a frozen game server."""
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
                        handle_event(name, json.loads(text))
        except (OSError, http.client.HTTPException):
            time.sleep(1)


def handle_event(name, data):
    if name == "kick":
        kick(data["id"])
    elif name == "players":  # the first event of a stream
        kick_others()
    elif name == "status" and data["state"] in ("ended", "superseded"):
        print("over:", data["state"], flush=True)
        os._exit(0)
    elif name == "status" and data["state"] == "unhealthy":
        ready()  # this process was frozen, and runs again
    elif name == "status" and data["unwanted"]:
        call("POST", "/shutdown")


def kick_others():
    """Kicks the players who are not admitted any more: this process did not receive the kicks before the stream began.
    It asks for the list, since players who join after the event are not in its data."""
    here = set(connections)
    status, answer = call("GET", "/players")
    if status != 200:
        return
    for player in here - {p["id"] for p in answer["players"]}:
        kick(player)


def kick(player):
    """Disconnects a player. Player.handle finds in kicked a player whose connection is not in connections yet."""
    kicked.add(player)
    try:
        if player in connections:
            connections[player].shutdown(socket.SHUT_RDWR)
    except (KeyError, OSError):
        pass  # the player has just left


class Player(socketserver.StreamRequestHandler):
    """The connection of one player."""

    def handle(self):
        token = self.rfile.readline(4096).decode("ascii", "replace").strip()
        status, player = call("POST", "/players", {"token": token})
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
