using System;
using System.Collections.Generic;
using System.Threading;
using System.Threading.Tasks;

namespace LatticeDirector
{
    /// <summary>What a game server says about itself. What is absent is as it was said before, or as the sidecar was started with.</summary>
    public sealed class ServerOffer
    {
        /// <summary>Where players connect, such as "203.0.113.7:7777".</summary>
        public string Endpoint;
        /// <summary>Such as "eu-west".</summary>
        public string Region;
        /// <summary>What is played here.</summary>
        public IReadOnlyList<string> Modes;
        /// <summary>The number of players over all sessions.</summary>
        public int Capacity;
        /// <summary>The number of sessions. 0: no limit.</summary>
        public int MaxSessions;
        /// <summary>The version of the game.</summary>
        public string Version;
        /// <summary>The name of the server, unique in the fleet.</summary>
        public string InstanceId;
        /// <summary>Of the process: sidecars tell by it that a server has started anew.</summary>
        public string BootId = Guid.NewGuid().ToString("N");

        internal object ToJson()
        {
            var body = new Dictionary<string, object> { { "boot_id", BootId } };
            var texts = new Dictionary<string, string> { { "endpoint", Endpoint }, { "region", Region }, { "version", Version }, { "instance_id", InstanceId } };
            foreach (var entry in texts) if (entry.Value != null) body[entry.Key] = entry.Value;
            if (Modes != null) body["modes"] = Modes;
            if (Capacity != 0) body["capacity"] = Capacity;
            if (MaxSessions != 0) body["max_sessions"] = MaxSessions;
            return body;
        }
    }

    /// <summary>The game server as its sidecar knows it.</summary>
    public sealed class ServerStatus : Document
    {
        internal ServerStatus(Document answer) : base(answer.Fields) { }

        /// <summary>starting, ready, draining, stopping, unhealthy, ended, superseded.</summary>
        public string State => Text("state");
        /// <summary>The name of the server.</summary>
        public string InstanceId => Text("instance_id");
        /// <summary>Where players connect.</summary>
        public string Endpoint => Text("endpoint");
        /// <summary>The director wants the server to end: call ShutdownAsync.</summary>
        public bool IsUnwanted => Truth("unwanted");
        /// <summary>Whether the registration is over, for ever.</summary>
        public bool IsFinal => State == "ended" || State == "superseded";
    }

    /// <summary>An admitted player.</summary>
    public sealed class Admission : Document
    {
        internal Admission(Document answer) : base(answer.Fields) { }

        /// <summary>Of this admission: give it to LeaveAsync.</summary>
        public string Id => Text("id");
        /// <summary>The player's id.</summary>
        public string Sub => Text("sub");
        /// <summary>The session's id.</summary>
        public string SessionId => Text("session_id");
        /// <summary>The session's mode.</summary>
        public string Mode => Text("mode");
        /// <summary>The session's number of seats.</summary>
        public int MaxPlayers => Whole("max_players");
        /// <summary>The player's party; empty: alone.</summary>
        public string Party => Text("party");
        /// <summary>The player's team, of a match.</summary>
        public string Team => Text("team");
    }

    /// <summary>
    /// A game server's client of `director sidecar` beside it, which registers it, sends heartbeats and admits players: the game server
    /// needs no secret and no cryptography. Calls wait while the sidecar or the director cannot be reached, until they are cancelled.
    /// </summary>
    public sealed class Sidecar
    {
        const int MaxEvent = 1 << 20; // an event may have the players of all sessions
        static readonly TimeSpan Silence = TimeSpan.FromSeconds(45); // the sidecar sends a comment every 10 s

        readonly Client client;

        /// <summary>Throws ArgumentException for a URL that cannot work. It does not connect.</summary>
        public Sidecar(string url = "http://127.0.0.1:9357", ITransport transport = null)
        {
            client = new Client(new DirectorOptions
            {
                Urls = new[] { url },
                Transport = transport ?? HttpClientTransport.Default,
                AttemptTimeout = TimeSpan.FromSeconds(15), // the sidecar waits 10 s for the director
                MaxBackoff = TimeSpan.FromSeconds(2),
            }, needsToken: false);
        }

        /// <summary>Is called with each event's name and data by ListenAsync, before the events below; for events of a newer sidecar.</summary>
        public event Action<string, Document> Heard;
        /// <summary>Disconnect the player of this admission. The reason is session_lost, replaced, superseded or closed.</summary>
        public event Action<string, string> Kicked;
        /// <summary>The ids of all admissions: disconnect everybody else. Kicks while nobody listened were not heard.</summary>
        public event Action<string[]> Admitted;
        /// <summary>The state has changed. When it is unhealthy, call ReadyAsync again; when it IsUnwanted, call ShutdownAsync.</summary>
        public event Action<ServerStatus> StatusChanged;
        /// <summary>The open sessions with their expected players, as in SessionsAsync.</summary>
        public event Action<Document[]> SessionsChanged;

        /// <summary>The server can take players. The same offer again changes nothing.</summary>
        public async Task<ServerStatus> ReadyAsync(ServerOffer offer, CancellationToken cancel = default) => new ServerStatus(await CallAsync("POST", "/ready", offer.ToJson(), cancel));

        /// <summary>The server lives. Call it in the game loop, every 5 s, so that a loop that is frozen counts as frozen.</summary>
        public Task HealthAsync(CancellationToken cancel = default) => CallAsync("POST", "/health", Empty, cancel);

        /// <summary>How busy the server is: new sessions go to the least loaded.</summary>
        public Task LoadAsync(double load, CancellationToken cancel = default) => CallAsync("PUT", "/load", new Dictionary<string, object> { { "load", load } }, cancel);

        /// <summary>
        /// May the holder of this session token play? It is not repeated after an attempt without an answer, because a token admits once:
        /// let the player get another. Throws DirectorException: bad_token, wrong_server, replay, seat_gone, no_seat, session_lost, not_ready.
        /// </summary>
        public async Task<Admission> AdmitAsync(string sessionToken, CancellationToken cancel = default)
        {
            var call = new Call { Method = "POST", Path = "/players", Body = new Dictionary<string, object> { { "token", sessionToken } }, IsOnce = true };
            return new Admission(await client.CallAsync(call, cancel));
        }

        /// <summary>The player of an admission is gone. Throws DirectorException: unknown_player.</summary>
        public Task LeaveAsync(string id, CancellationToken cancel = default) => CallAsync("DELETE", "/players/" + Uri.EscapeDataString(id), null, cancel);

        /// <summary>Returns the admitted players.</summary>
        public async Task<Admission[]> PlayersAsync(CancellationToken cancel = default)
            => Array.ConvertAll((await CallAsync("GET", "/players", null, cancel)).Objects("players"), player => new Admission(player));

        /// <summary>Returns the open sessions with their expected players.</summary>
        public async Task<Document[]> SessionsAsync(CancellationToken cancel = default) => (await CallAsync("GET", "/sessions", null, cancel)).Objects("sessions");

        /// <summary>The match of a session is over.</summary>
        public Task EndSessionAsync(string id, CancellationToken cancel = default) => CallAsync("DELETE", "/sessions/" + Uri.EscapeDataString(id), null, cancel);

        /// <summary>No more players, or players again.</summary>
        public async Task<ServerStatus> DrainAsync(bool drain = true, CancellationToken cancel = default) => new ServerStatus(await CallAsync("POST", drain ? "/drain" : "/undrain", Empty, cancel));

        /// <summary>Drains, waits for the players to leave, deregisters, and ends the sidecar. Without a grace period it is the sidecar's.</summary>
        public async Task<ServerStatus> ShutdownAsync(TimeSpan? grace = null, CancellationToken cancel = default)
        {
            var body = new Dictionary<string, object>();
            if (grace != null) body["grace"] = (long)grace.Value.TotalMilliseconds + "ms";
            return new ServerStatus(await CallAsync("POST", "/shutdown", body, cancel));
        }

        /// <summary>Returns the current state.</summary>
        public async Task<ServerStatus> StatusAsync(CancellationToken cancel = default) => new ServerStatus(await CallAsync("GET", "/status", null, cancel));

        /// <summary>
        /// Raises the events above until the registration is over, and returns the final status. A new stream begins with the current state,
        /// so nothing is missed when one breaks.
        /// </summary>
        public async Task<ServerStatus> ListenAsync(CancellationToken cancel = default)
        {
            var call = new Call { Method = "GET", Path = "/events" };
            for (var pacer = client.NewPacer(); ;)
            {
                Exception failure = new UnreachableException("the stream of events has ended");
                try
                {
                    var final = await FollowStreamAsync(call, pacer, cancel);
                    if (final != null) return final;
                }
                catch (Exception error) when (!cancel.IsCancellationRequested && new RetryPolicy().Repeats(error)) { failure = error; }
                await client.PauseAsync(call, pacer, failure, cancel);
            }
        }

        static readonly Dictionary<string, object> Empty = new Dictionary<string, object>();

        Task<Document> CallAsync(string method, string path, object body, CancellationToken cancel)
            => client.CallAsync(new Call { Method = method, Path = path, Body = body, MayBeEmpty = true }, cancel);

        async Task<ServerStatus> FollowStreamAsync(Call call, Pacer pacer, CancellationToken cancel)
        {
            var parser = new EventParser(MaxEvent);
            using (var stream = await client.StreamAsync(call, cancel))
            {
                for (List<StreamEvent> events; (events = await stream.ReadAsync(parser, Silence)) != null;)
                {
                    pacer.Reset();
                    foreach (var found in events)
                    {
                        var final = Raise(found.Name, Client.DocumentOf(found.Data) ?? new Document(null));
                        if (final != null) return final;
                    }
                }
            }
            return null;
        }

        /// <summary>Returns the status, if it is final.</summary>
        ServerStatus Raise(string name, Document data)
        {
            Heard?.Invoke(name, data);
            switch (name)
            {
                case "kick": Kicked?.Invoke(data.Text("id"), data.Text("reason")); break;
                case "players": Admitted?.Invoke(data.Texts("players")); break;
                case "sessions": SessionsChanged?.Invoke(data.Objects("sessions")); break;
                case "status":
                    var status = new ServerStatus(data);
                    StatusChanged?.Invoke(status);
                    return status.IsFinal ? status : null;
            }
            return null;
        }
    }
}
