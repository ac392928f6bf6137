// The steps of the scenarios of test/peertest, which come as lines of JSON over the connection to DIRECTOR_STEPS.
using System;
using System.Collections.Concurrent;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Net.Sockets;
using System.Text;
using System.Threading;
using System.Threading.Tasks;
using LatticeDirector;

using Fields = System.Collections.Generic.Dictionary<string, object>;

/// <summary>A transport that notes which streams of events a player opens.</summary>
class NotingTransport : ITransport
{
    public readonly List<object> Streams = new List<object>();

    public Task<IHttpAnswer> SendAsync(HttpCall call, CancellationToken cancel)
    {
        if (call.Url.EndsWith("/events", StringComparison.Ordinal))
        {
            string resumed;
            call.Headers.TryGetValue("Last-Event-ID", out resumed);
            lock (Streams) Streams.Add(new Fields { { "base", new Uri(call.Url).GetLeftPart(UriPartial.Authority) }, { "resumed", resumed ?? "" } });
        }
        return HttpClientTransport.Default.SendAsync(call, cancel);
    }

    public Task DelayAsync(TimeSpan time, CancellationToken cancel) => HttpClientTransport.Default.DelayAsync(time, cancel);
}

class PlayerSteps
{
    public readonly NotingTransport Transport = new NotingTransport();
    public readonly CancellationTokenSource Abort = new CancellationTokenSource();
    public readonly List<object> Retries = new List<object>(), States = new List<object>();
    public readonly Player Player;
    public Ticket Ticket;
    public Task Watched;
    public int Refreshed;

    public PlayerSteps(Document args)
    {
        var tokens = args.Texts("tokens").ToList();
        Player = new Player(new DirectorOptions
        {
            Urls = args.Texts("urls"),
            TokenSource = refresh =>
            {
                lock (tokens)
                {
                    if (refresh) { Refreshed++; tokens.RemoveAt(0); }
                    return Task.FromResult(tokens[0]);
                }
            },
            Transport = Transport,
            MaxBackoff = TimeSpan.FromSeconds(1),
            OnRetry = retry => { lock (Retries) Retries.Add(Steps.Describe(retry.Error, retry.Call)); },
        });
    }
}

class LobbySteps
{
    public Lobby Lobby;
    public readonly List<object> Events = new List<object>(), Said = new List<object>();
    readonly HashSet<Room> heard = new HashSet<Room>();

    public void Listen()
    {
        Lobby.Connected += (url, resumed) => Note("connected", new Fields { { "url", url }, { "session", Lobby.Session }, { "resumed", resumed } });
        Lobby.Disconnected += code => Note("disconnected", new Fields { { "code", code } });
        Lobby.Ended += error => Note("ended", Steps.Describe(error, ""));
        Lobby.Invited += invitation => Note("invited", Steps.Copy(invitation));
        Lobby.MatchFound += match => Note("match", Steps.Copy(match));
    }

    public void Listen(Room room)
    {
        if (!heard.Add(room)) return;
        room.MessageReceived += message =>
        {
            lock (Said) Said.Add(new Fields { { "room", room.Id }, { "type", message.Text("type") }, { "data", message.Value("data") }, { "from", message.Text("from") } });
        };
        room.PresenceChanged += (what, who) =>
        {
            var left = Steps.Copy(who);
            left["room"] = room.Id;
            if (what == "left") Note("left", left);
        };
    }

    void Note(string kind, Fields about)
    {
        about["kind"] = kind;
        lock (Events) Events.Add(about);
    }

    public object Describe(Room room) => new Fields
    {
        { "id", room.Id }, { "type", room.Type }, { "state", room.State.Fields }, { "seq", room.Seq }, { "sessions", room.Sessions },
        { "members", room.Members.Select(Describe).ToArray() }, { "me", room.Me == null ? null : Describe(room.Me) }, { "isOwner", room.IsOwner },
    };

    static object Describe(Member member)
    {
        var fields = Steps.Copy(member);
        fields["session"] = member.Session;
        return fields;
    }
}

static class Steps
{
    static readonly ConcurrentDictionary<string, PlayerSteps> Players = new ConcurrentDictionary<string, PlayerSteps>();
    static readonly ConcurrentDictionary<string, LobbySteps> Lobbies = new ConcurrentDictionary<string, LobbySteps>();
    static readonly ConcurrentDictionary<string, Task<object>> Background = new ConcurrentDictionary<string, Task<object>>();
    static readonly List<object> ServerEvents = new List<object>();
    static Sidecar server;
    static Task<ServerStatus> serverOver;

    static int Main()
    {
        var address = Environment.GetEnvironmentVariable("DIRECTOR_STEPS").Split(':');
        using (var tests = new TcpClient(address[0], int.Parse(address[1])))
        {
            var lines = new StreamReader(tests.GetStream(), new UTF8Encoding(false));
            var answers = new StreamWriter(tests.GetStream(), new UTF8Encoding(false)) { AutoFlush = true, NewLine = "\n" };
            for (string line; (line = lines.ReadLine()) != null;) answers.WriteLine(Json.Write(AnswerAsync(new Document(Json.Parse(line))).Result));
        }
        return 0;
    }

    static async Task<object> AnswerAsync(Document request)
    {
        try { return new Fields { { "value", await RunAsync(request.Text("step"), request.Object("args")) } }; }
        catch (Exception error) { return new Fields { { "error", Describe(error, "") } }; }
    }

    /// <summary>What the tests see of an error.</summary>
    public static Fields Describe(Exception error, string call)
    {
        var names = new Dictionary<Type, string>
        {
            { typeof(DirectorException), "DirectorError" }, { typeof(UnreachableException), "UnreachableError" }, { typeof(UnreadableException), "UnreadableError" },
            { typeof(LobbyException), "LobbyError" }, { typeof(UncertainException), "UncertainError" }, { typeof(EndedException), "EndedError" }, { typeof(ArgumentException), "TypeError" },
        };
        string name;
        if (!names.TryGetValue(error.GetType(), out name)) name = error is OperationCanceledException ? "AbortError" : error.ToString();
        var about = new Fields { { "name", name }, { "message", error.Message }, { "call", call } };
        var refusal = error as DirectorException;
        if (refusal != null)
        {
            about["status"] = refusal.Status;
            about["code"] = refusal.Code;
            about["call"] = refusal.Call;
            if (refusal.RetryAfter != null) about["retryAfter"] = refusal.RetryAfter;
        }
        if (error is LobbyException) about["code"] = ((LobbyException)error).Code;
        return about;
    }

    public static Fields Copy(Document document) => document.Fields.ToDictionary(field => field.Key, field => field.Value);

    static object Snapshot(List<object> list) { lock (list) return list.ToArray(); }

    static async Task<object> RunAsync(string step, Document args)
    {
        switch (step)
        {
            case "player": Players[args.Text("player")] = new PlayerSteps(args); return null;
            case "begin": Background[args.Text("id")] = RunAsync(args.Text("step"), args.Object("args")); return null;
            case "end": return await Background[args.Text("id")];
            case "server": StartServer(args.Text("url")); return null;
            case "serverEvents": return Snapshot(ServerEvents);
            case "serverOver": return (await serverOver).State;
            case "serverCall": return await ServerCallAsync(args.Text("call"), args.Object("args"));
        }
        if (step.StartsWith("lobby", StringComparison.Ordinal) || step.StartsWith("room", StringComparison.Ordinal)) return await LobbyAsync(step, args);
        return await PlayerAsync(step, args, Players[args.Text("player")]);
    }

    static async Task<object> PlayerAsync(string step, Document args, PlayerSteps p)
    {
        var cancel = p.Abort.Token;
        switch (step)
        {
            case "matchmake": return (await p.Player.MatchmakeAsync(MatchOf(args), cancel)).Fields;
            case "seat": return (await p.Player.SeatAsync(MatchOf(args), args.Truth("awaitServers"), cancel)).Fields;
            case "resolve": return (await p.Player.ResolveAsync(args.Text("handle"), cancel)).Fields;
            case "session": return (await p.Player.SessionAsync(args.Text("session"), cancel)).Fields;
            case "queue": p.Ticket = await p.Player.QueueAsync(TicketOf(args.Object("request")), cancel); return p.Ticket.Status.Fields;
            case "ticket": p.Ticket = p.Player.Ticket(args.Text("id")); return null;
            case "ticketCall": return (await TicketCallAsync(p, args.Text("method"), cancel)).Fields;
            case "watch":
                lock (p.States) p.States.Clear();
                p.Watched = p.Ticket.WatchAsync(status => { lock (p.States) p.States.Add(status.Fields); }, cancel);
                return null;
            case "watched": await p.Watched; return null;
            case "states": return Snapshot(p.States);
            case "retries": return Snapshot(p.Retries);
            case "streams": return Snapshot(p.Transport.Streams);
            case "refreshed": return p.Refreshed;
            case "abort": p.Abort.Cancel(); return null;
        }
        throw new InvalidOperationException("no step " + step);
    }

    static MatchRequest MatchOf(Document args)
    {
        var request = args.Object("request");
        return new MatchRequest
        {
            Region = request.Text("region"), Mode = request.Text("mode"), MaxPlayers = request.Whole("max_players"),
            Party = request.Value("party") == null ? null : request.Texts("party"),
        };
    }

    static TicketRequest TicketOf(Document request) => new TicketRequest { Profiles = request.Texts("profiles"), Party = request.Value("party") == null ? null : request.Texts("party") };

    static Task<TicketStatus> TicketCallAsync(PlayerSteps p, string method, CancellationToken cancel)
    {
        object last = null; // the state that the player sees
        lock (p.States) last = p.States.LastOrDefault();
        var asked = last == null ? "" : (string)((IReadOnlyDictionary<string, object>)last).FirstOrDefault(field => field.Key == "match_id").Value;
        switch (method)
        {
            case "accept": return p.Ticket.AcceptAsync(asked, cancel);
            case "decline": return p.Ticket.DeclineAsync(asked, cancel);
            case "cancel": return p.Ticket.CancelAsync(cancel);
            case "next": return p.Ticket.NextAsync(cancel);
            default: return p.Ticket.ReadAsync(cancel);
        }
    }

    static void StartServer(string url)
    {
        server = new Sidecar(url);
        server.Heard += (name, data) => { lock (ServerEvents) ServerEvents.Add(new Fields { { "name", name }, { "data", data.Fields } }); };
        serverOver = server.ListenAsync();
    }

    static async Task<object> ServerCallAsync(string call, Document args)
    {
        switch (call)
        {
            case "ready":
                var about = args.Object("about");
                return (await server.ReadyAsync(new ServerOffer
                {
                    Endpoint = about.Text("endpoint"), Region = about.Text("region"), Modes = about.Texts("modes"), Capacity = about.Whole("capacity"), BootId = about.Text("boot_id"),
                })).Fields;
            case "health": await server.HealthAsync(); return null;
            case "load": await server.LoadAsync(args.Number("load")); return null;
            case "admit": return (await server.AdmitAsync(args.Text("token"))).Fields;
            case "leave": await server.LeaveAsync(args.Text("id")); return null;
            case "players": return new Fields { { "players", (await server.PlayersAsync()).Select(player => player.Fields).ToArray() } };
            case "sessions": return new Fields { { "sessions", (await server.SessionsAsync()).Select(session => session.Fields).ToArray() } };
            case "end": await server.EndSessionAsync(args.Text("session")); return null;
            case "drain": return (await server.DrainAsync()).Fields;
            case "undrain": return (await server.DrainAsync(false)).Fields;
            case "shutdown": return (await server.ShutdownAsync(TimeSpan.Zero)).Fields;
        }
        throw new InvalidOperationException("no call " + call);
    }

    static async Task<object> LobbyAsync(string step, Document args)
    {
        var l = Lobbies.GetOrAdd(args.Text("player"), _ => new LobbySteps());
        var list = args.Value("args") as List<object> ?? new List<object>();
        switch (step)
        {
            case "lobby": return await ConnectAsync(l, args);
            case "lobbyURL": return l.Lobby.Url;
            case "lobbySaid": return Snapshot(l.Said);
            case "lobbyEvents": lock (l.Events) return l.Events.Where(found => (string)((Fields)found)["kind"] == args.Text("kind")).ToArray();
            case "lobbyCall": return await LobbyCallAsync(l, args.Text("method"), i => i < list.Count ? list[i] : null);
            case "roomCall": return await RoomCallAsync(l.Lobby.Room(args.Text("room")), args.Text("method"), i => i < list.Count ? list[i] : null);
            case "roomSeen": return l.Describe(l.Lobby.Room(args.Text("room")));
        }
        throw new InvalidOperationException("no step " + step);
    }

    static async Task<object> ConnectAsync(LobbySteps l, Document args)
    {
        var tokens = args.Texts("tokens").ToList();
        var options = new LobbyOptions { Urls = args.Texts("urls"), Session = args.Text("session"), MaxBackoff = TimeSpan.FromSeconds(1), Token = tokens[0] };
        if (tokens.Count > 1) options.TokenSource = refresh =>
        {
            if (refresh) tokens.RemoveAt(0);
            return Task.FromResult(tokens[0]);
        };
        l.Lobby = await Lobby.ConnectAsync(options, new CancellationTokenSource(60_000).Token);
        l.Listen();
        return new Fields { { "session", l.Lobby.Session }, { "connected", true } };
    }

    static async Task<object> LobbyCallAsync(LobbySteps l, string method, Func<int, object> arg)
    {
        Room room;
        switch (method)
        {
            case "createParty": room = await l.Lobby.CreatePartyAsync(arg(0) as Fields); break;
            case "createLobby": room = await l.Lobby.CreateLobbyAsync(arg(0) as Fields); break;
            case "join": room = await l.Lobby.JoinAsync((string)arg(0), (string)arg(1), arg(2) as Fields); break;
            case "joinMatch": room = await l.Lobby.JoinMatchAsync(new Document(arg(0)), arg(1) as Fields); break;
            case "list": return (await l.Lobby.RequestAsync("room.list", (Fields)arg(0), null, true)).Fields;
            case "enqueue": return (await l.Lobby.RequestAsync("matchmaking.enqueue", (Fields)arg(0), null, true)).Fields;
            case "dequeue": return (await l.Lobby.RequestAsync("matchmaking.dequeue", null, null, true)).Truth("removed");
            default: throw new InvalidOperationException("no method " + method);
        }
        l.Listen(room);
        return l.Describe(room);
    }

    static async Task<object> RoomCallAsync(Room room, string method, Func<int, object> arg)
    {
        switch (method)
        {
            case "invite": return await room.InviteAsync((string)arg(0));
            case "say": await room.SayAsync((string)arg(0)); return null;
            case "queue": await room.QueueAsync((Fields)arg(0)); return null;
            case "start": await room.StartAsync((Fields)arg(0)); return null;
            case "cancelQueue": await room.CancelQueueAsync(); return null;
            case "leave": await room.LeaveAsync(); return null;
            case "set": await room.SetAsync((string)arg(0), arg(1)); return null;
            case "team": await room.TeamAsync(arg(0)); return null;
            case "ready": await room.ReadyAsync((bool)arg(0)); return null;
            case "kick": await room.KickAsync((string)arg(0)); return null;
            case "lock": await room.SendAsync("lock", new Fields { { "locked", arg(0) } }); return null;
            case "countdown": await room.SendAsync("countdown", new Fields { { "seconds", arg(0) } }); return null;
            case "giveOwnership": await room.SendAsync("owner", new Fields { { "session", arg(0) } }); return null;
            case "resolve": return (await room.ResolveAsync()).Fields;
        }
        throw new InvalidOperationException("no method " + method);
    }
}
