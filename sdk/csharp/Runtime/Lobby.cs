using System;
using System.Collections.Concurrent;
using System.Collections.Generic;
using System.Globalization;
using System.Threading;
using System.Threading.Tasks;

namespace LatticeDirector
{
    /// <summary>The lobby refused a request, a message or the handshake. Branch on Code.</summary>
    public class LobbyException : Exception
    {
        internal LobbyException(string call, Document refusal)
            : base(call + ": " + DetailOf(refusal) + " (" + DirectorException.Short(refusal.Text("code")) + ")" + (refusal.Text("hint") == "" ? "" : ": " + DirectorException.Short(refusal.Text("hint"))))
        {
            Call = call;
            Code = DirectorException.Short(refusal.Text("code"));
            Field = DirectorException.Short(refusal.Text("field"));
            RetryAfter = TimeSpan.FromMilliseconds(Math.Min(Math.Max(0, refusal.Number("retry_after_ms")), 60_000));
        }

        /// <summary>The type of the request, with that of its message; "handshake".</summary>
        public string Call { get; }
        /// <summary>The stable reason, such as "room_full". A newer director may send others.</summary>
        public string Code { get; }
        /// <summary>With the code invalid, the field.</summary>
        public string Field { get; }
        /// <summary>How long the director asks to wait.</summary>
        public TimeSpan RetryAfter { get; }

        static string DetailOf(Document refusal) => DirectorException.Short(refusal.Text("error") != "" ? refusal.Text("error") : refusal.Text("reason"));
    }

    /// <summary>The connection ended before the answer arrived: the request may have been carried out or not. The state of the room says which.</summary>
    public class UncertainException : Exception
    {
        internal UncertainException(string call) : base(call + ": the connection ended before the answer: look at the state of the room") { }
    }

    /// <summary>Why a client has ended: it was closed, or another client uses its session.</summary>
    public class EndedException : Exception
    {
        internal EndedException(string message) : base(message) { }
    }

    /// <summary>How a client reaches the lobby.</summary>
    public sealed class LobbyOptions
    {
        /// <summary>The URLs of the replicas, such as "wss://lobby.example:4000".</summary>
        public IReadOnlyList<string> Urls;
        /// <summary>The player's token, which the game's backend minted.</summary>
        public string Token;
        /// <summary>In place of Token: returns it. Only a function can replace a token that was refused.</summary>
        public TokenSource TokenSource;
        /// <summary>The project of a client without a token, where the director allows that.</summary>
        public string Project;
        /// <summary>The session of a former client, such as that of a game before it was restarted, to resume it.</summary>
        public string Session = "";
        /// <summary>Waits. Default: the framework's.</summary>
        public ITransport Transport = HttpClientTransport.Default;
        /// <summary>Makes the connections. Default: the framework's.</summary>
        public Func<Uri, CancellationToken, Task<ILobbySocket>> Connect = ClientLobbySocket.ConnectAsync;
        /// <summary>Bounds the connection to one replica with its handshake.</summary>
        public TimeSpan AttemptTimeout = TimeSpan.FromSeconds(5);
        /// <summary>The first pause between attempts. Pauses double up to MaxBackoff; each varies by half.</summary>
        public TimeSpan FirstBackoff = TimeSpan.FromMilliseconds(250);
        /// <summary>The longest pause.</summary>
        public TimeSpan MaxBackoff = TimeSpan.FromSeconds(3);
    }

    /// <summary>
    /// A session of the realtime lobby, over any number of connections: when one ends, the client connects to the next replica and resumes
    /// its session, so that the player stays in its rooms and in the queue. After a longer absence it gets a new session, and joins its
    /// rooms again. In an engine, connect on its main thread: events are raised there, too. What may be carried out twice is repeated
    /// after a lost connection; what may not throws UncertainException.
    /// </summary>
    public sealed class Lobby
    {
        static readonly TimeSpan Steady = TimeSpan.FromSeconds(10), Silence = TimeSpan.FromSeconds(25), Probe = TimeSpan.FromSeconds(10), RepeatPause = TimeSpan.FromMilliseconds(250);
        const int MaxTakeovers = 3, Superseded = 4409; // a replica that was frozen closes connections with the same code

        readonly LobbyOptions options;
        readonly Replicas replicas;
        readonly Pacer pacer;
        readonly CancellationTokenSource life = new CancellationTokenSource();
        readonly SemaphoreSlim sending = new SemaphoreSlim(1, 1);
        readonly ConcurrentDictionary<string, Room> rooms = new ConcurrentDictionary<string, Room>();
        readonly ConcurrentDictionary<string, TaskCompletionSource<Document>> pending = new ConcurrentDictionary<string, TaskCompletionSource<Document>>();
        volatile Attached current;
        TaskCompletionSource<bool> attachedOnce = new TaskCompletionSource<bool>();
        Exception end;
        int lastRequest, takeovers;

        /// <summary>A connection whose handshake was accepted.</summary>
        sealed class Attached
        {
            internal ILobbySocket Socket;
            internal string Url;
            internal bool IsResumed;
            internal DateTime Since;
        }

        Lobby(LobbyOptions options)
        {
            this.options = options;
            Session = options.Session ?? "";
            replicas = new Replicas(options.Urls, "ws");
            pacer = new Pacer(options.FirstBackoff, options.MaxBackoff);
        }

        /// <summary>The session's id. Another client resumes the session with it.</summary>
        public string Session { get; private set; }
        /// <summary>The URL of the replica to which the client is connected; empty while it is not.</summary>
        public string Url => current?.Url ?? "";

        /// <summary>The client is connected, with the session that it had or not.</summary>
        public event Action<string, bool> Connected;
        /// <summary>The connection has ended, with a close code, and the client connects again.</summary>
        public event Action<int> Disconnected;
        /// <summary>The client has ended.</summary>
        public event Action<Exception> Ended;
        /// <summary>Somebody invites the player: room, room_type, from_player. Join the room, or leave it to decline.</summary>
        public event Action<Document> Invited;
        /// <summary>A match was found: room, room_type. Join it with JoinMatchAsync.</summary>
        public event Action<Document> MatchFound;
        /// <summary>The player is asked: match_id, seconds. Call AcceptAsync or DeclineAsync.</summary>
        public event Action<Document> MatchPending;
        /// <summary>The session waits for no match any more: reason.</summary>
        public event Action<Document> QueueExpired;
        /// <summary>Any other frame, such as one of a newer director: t, room, p.</summary>
        public event Action<Document> FrameReceived;

        /// <summary>Opens a session, or resumes one. It tries all replicas until it is cancelled. Throws LobbyException for a refused token, ArgumentException.</summary>
        public static async Task<Lobby> ConnectAsync(LobbyOptions options, CancellationToken cancel = default)
        {
            var lobby = new Lobby(options);
            var first = await lobby.DialAsync(cancel);
            _ = lobby.RunAsync(first);
            return lobby;
        }

        /// <summary>Ends the connection. The session ends when its time to live is over: leave rooms that the player shall be out of at once.</summary>
        public void Close() => Finish(new EndedException("the client was closed"));

        /// <summary>Connects to the next replica, such as when the network has changed: a silent connection is noticed half a minute later.</summary>
        public void Reconnect() => current?.Socket.Dispose();

        /// <summary>Returns a room by its id, to listen to it or to leave it.</summary>
        public Room Room(string id) => rooms.GetOrAdd(id, _ => new Room(this, id));

        /// <summary>
        /// Joins a room, or makes it, and waits for its state. Options: name, private, max_members, metadata, data, settings. Throws
        /// LobbyException: room_full, room_locked, not_invited, room_not_found, unsupported_room_type, invalid.
        /// </summary>
        public Task<Room> JoinAsync(string type, string id = null, Dictionary<string, object> joinOptions = null, CancellationToken cancel = default)
            => EnterAsync("room.join_or_create", "room_type", type, id, joinOptions, cancel);
        /// <summary>Makes a party, which only invited players join.</summary>
        public Task<Room> CreatePartyAsync(Dictionary<string, object> joinOptions = null, CancellationToken cancel = default) => JoinAsync("party", "party:" + Suffix(), joinOptions, cancel);
        /// <summary>Makes a lobby.</summary>
        public Task<Room> CreateLobbyAsync(Dictionary<string, object> joinOptions = null, CancellationToken cancel = default) => JoinAsync("lobby", "lobby:" + Suffix(), joinOptions, cancel);
        /// <summary>Joins the room of a match, where its game server is found: Room.ResolveAsync.</summary>
        public Task<Room> JoinMatchAsync(Document match, Dictionary<string, object> joinOptions = null, CancellationToken cancel = default)
            => JoinAsync(match.Text("room_type"), match.Text("room"), joinOptions, cancel);
        /// <summary>Joins the room that has a code, such as "KX7-4ZM". Throws LobbyException: code_unknown, room_full, banned.</summary>
        public Task<Room> JoinByCodeAsync(string code, Dictionary<string, object> joinOptions = null, CancellationToken cancel = default)
            => EnterAsync("room.join", "code", code, null, joinOptions, cancel);
        /// <summary>Accepts a pending match. Throws LobbyException: too_late.</summary>
        public Task AcceptAsync(string matchId, CancellationToken cancel = default) => RequestAsync("match.accept", new Dictionary<string, object> { { "match_id", matchId } }, null, true, cancel);
        /// <summary>Declines it; the party leaves the queue.</summary>
        public Task DeclineAsync(string matchId, CancellationToken cancel = default) => RequestAsync("match.decline", new Dictionary<string, object> { { "match_id", matchId } }, null, true, cancel);

        /// <summary>Makes a request, such as "room.list", which has no method here, and returns its answer. It waits for a connection.</summary>
        public async Task<Document> RequestAsync(string type, Dictionary<string, object> p = null, string room = null, bool mayRepeat = false, CancellationToken cancel = default)
        {
            for (; ; )
            {
                try { return await RequestOnceAsync(await AttachedAsync(cancel), type, p ?? new Dictionary<string, object>(), room, cancel); }
                catch (Exception error) when (mayRepeat && IsTemporary(error))
                {
                    await options.Transport.DelayAsync(RepeatPause + ((error as LobbyException)?.RetryAfter ?? TimeSpan.Zero), cancel);
                }
            }
        }

        static bool IsTemporary(Exception error)
        {
            var code = (error as LobbyException)?.Code;
            return error is UncertainException || code == "unavailable" || code == "rate_limited";
        }

        static string Suffix() => Chance.Key().Substring(0, 12); // others cannot join a private room by guessing its id

        async Task<Room> EnterAsync(string request, string which, string value, string id, Dictionary<string, object> joinOptions, CancellationToken cancel)
        {
            var p = new Dictionary<string, object> { { which, value }, { "options", joinOptions ?? new Dictionary<string, object>() } };
            var answer = await RequestAsync(request, p, id, true, cancel);
            var room = Room(answer.Text("room"));
            room.Type = which == "room_type" ? value : answer.Text("room_type");
            room.JoinOptions = joinOptions ?? new Dictionary<string, object>();
            while (room.Seq == 0) await options.Transport.DelayAsync(TimeSpan.FromMilliseconds(10), cancel);
            return room;
        }

        async Task<Document> RequestOnceAsync(Attached attached, string type, Dictionary<string, object> p, string room, CancellationToken cancel)
        {
            var rid = Interlocked.Increment(ref lastRequest).ToString(CultureInfo.InvariantCulture);
            var name = NameOf(type, p);
            var answer = pending[rid] = new TaskCompletionSource<Document>(TaskCreationOptions.RunContinuationsAsynchronously);
            try
            {
                if (current != attached) throw new UncertainException(name); // its pending requests may be dropped already
                var frame = new Dictionary<string, object> { { "t", type }, { "rid", rid }, { "p", p } };
                if (room != null) frame["room"] = room;
                await SendAsync(attached, frame);
                var result = await answer.Task.OrCancelled(cancel);
                if (result == null) throw new UncertainException(name);
                return result.Truth("ok") ? result : throw new LobbyException(name, result);
            }
            finally { pending.TryRemove(rid, out _); }
        }

        static string NameOf(string type, Dictionary<string, object> p) => p.TryGetValue("type", out var messageType) ? type + " " + messageType : type;

        /// <summary>Sends a frame. A connection that ends meanwhile is noticed where frames are received.</summary>
        async Task SendAsync(Attached attached, Dictionary<string, object> frame)
        {
            frame["v"] = 1;
            await sending.WaitAsync();
            try { await attached.Socket.SendAsync(Json.Write(frame), life.Token); }
            catch (Exception) { attached.Socket.Dispose(); }
            finally { sending.Release(); }
        }

        async Task<Attached> AttachedAsync(CancellationToken cancel)
        {
            for (; ; )
            {
                var once = attachedOnce;
                if (end != null) throw end;
                var attached = current;
                if (attached != null) return attached;
                await once.Task.OrCancelled(cancel);
            }
        }

        /// <summary>Connects to the replicas by turns. Throws for what a retry cannot change.</summary>
        async Task<Attached> DialAsync(CancellationToken cancel)
        {
            for (var refresh = false; ;)
            {
                for (var left = replicas.Count; left > 0; left--)
                {
                    var replica = replicas.Pick(DateTime.UtcNow);
                    var token = options.TokenSource == null ? options.Token ?? "" : await options.TokenSource(refresh).OrCancelled(cancel);
                    try { return await OpenAsync(replica, token, cancel); }
                    catch (LobbyException error)
                    {
                        var isOfToken = error.Code == "token_refused" || error.Code == "key_refused";
                        var isFinal = error.Code == "bad_frame" || error.Code == "unsupported_version" || error.Code == "unsupported_codec";
                        if (isFinal || (isOfToken && (refresh || options.TokenSource == null))) throw;
                        refresh = refresh || isOfToken;
                        if (!isOfToken) replicas.NoteFailure(replica, DateTime.UtcNow);
                    }
                    catch (UnreachableException) { replicas.NoteFailure(replica, DateTime.UtcNow); }
                }
                await options.Transport.DelayAsync(pacer.Next(), cancel); // with jitter, since others have lost the same replica
            }
        }

        async Task<Attached> OpenAsync(string replica, string token, CancellationToken cancel)
        {
            using (var deadline = new Deadline(options.Transport, options.AttemptTimeout, cancel))
            {
                ILobbySocket socket = null;
                try
                {
                    socket = await deadline.ReachedAsync(() => options.Connect(new Uri(replica), deadline.Token), cancel);
                    await deadline.ReachedAsync(async () => { await socket.SendAsync(Json.Write(Hello(token)), deadline.Token); return true; }, cancel);
                    var frame = Client.DocumentOf(await deadline.ReachedAsync(() => socket.ReceiveAsync(deadline.Token), cancel) ?? "") ?? new Document(null);
                    var p = frame.Object("p");
                    if (frame.Text("t") == "error") throw new LobbyException("handshake", p);
                    if (frame.Text("t") != "handshake.ok" || p.Text("session_id") == "") throw new UnreachableException("not a director");
                    Session = p.Text("session_id");
                    return new Attached { Socket = socket, Url = replica, IsResumed = p.Truth("resumed"), Since = DateTime.UtcNow };
                }
                catch
                {
                    socket?.Dispose();
                    throw;
                }
            }
        }

        Dictionary<string, object> Hello(string token)
        {
            var hello = new Dictionary<string, object> { { "v", 1 }, { "codecs", new[] { "json" } }, { "token", token } };
            if (Session != "") hello["session_id"] = Session;
            if (options.Project != null) hello["project_id"] = options.Project;
            return hello;
        }

        /// <summary>Keeps the client connected until it is closed or cannot be.</summary>
        async Task RunAsync(Attached attached)
        {
            try
            {
                for (; ; )
                {
                    Attach(attached);
                    var code = await ReceiveAllAsync(attached);
                    Detach(attached, code);
                    await options.Transport.DelayAsync(pacer.Next(), life.Token);
                    attached = await DialAsync(life.Token);
                }
            }
            catch (Exception error) { Finish(error); }
        }

        void Attach(Attached attached)
        {
            current = attached;
            var waiting = attachedOnce;
            attachedOnce = new TaskCompletionSource<bool>();
            waiting.TrySetResult(true);
            if (!attached.IsResumed) foreach (var room in rooms.Values) if (room.JoinOptions != null) _ = RejoinAsync(room);
            Connected?.Invoke(attached.Url, attached.IsResumed);
        }

        void Detach(Attached attached, int code)
        {
            current = null;
            attached.Socket.Dispose();
            foreach (var waiting in pending.Values) waiting.TrySetResult(null);
            if (end != null) throw end;
            Disconnected?.Invoke(code);
            replicas.NoteFailure(attached.Url, DateTime.UtcNow);
            var isSteady = DateTime.UtcNow - attached.Since >= Steady;
            if (isSteady) pacer.Reset();
            takeovers = isSteady || code != Superseded ? 0 : takeovers + 1;
            if (takeovers >= MaxTakeovers) throw new EndedException("another client took the session over: give each client a session of its own");
        }

        void Finish(Exception error)
        {
            if (Interlocked.CompareExchange(ref end, error, null) != null) return;
            life.Cancel();
            current?.Socket.Dispose();
            foreach (var waiting in pending.Values) waiting.TrySetResult(null);
            attachedOnce.TrySetResult(true);
            Ended?.Invoke(error);
        }

        /// <summary>Joins a room again in which the client was with a session that has ended.</summary>
        async Task RejoinAsync(Room room)
        {
            var joinOptions = room.JoinOptions;
            room.Forget();
            try { await JoinAsync(room.Type, room.Id, joinOptions, life.Token); }
            catch (LobbyException error) { room.RaisePresence("left", new Document(new Dictionary<string, object> { { "reason", error.Code } })); }
            catch (Exception) when (end != null) { } // the client has ended
        }

        /// <summary>Takes frames until the connection ends or is dead, and returns its close code.</summary>
        async Task<int> ReceiveAllAsync(Attached attached)
        {
            for (var receiving = attached.Socket.ReceiveAsync(life.Token); ;)
            {
                try
                {
                    if (!await ArrivesAsync(receiving, Silence))
                    {
                        // No pings are seen, so a dead connection is found by a question.
                        await SendAsync(attached, new Dictionary<string, object> { { "t", "echo" }, { "rid", "probe" }, { "p", new Dictionary<string, object>() } });
                        if (!await ArrivesAsync(receiving, Probe)) return 1006;
                    }
                    var text = await receiving;
                    if (text == null) return attached.Socket.CloseCode;
                    receiving = attached.Socket.ReceiveAsync(life.Token);
                    await TakeAsync(attached, Client.DocumentOf(text) ?? new Document(null));
                }
                catch (Exception) when (end == null && receiving.IsFaulted) { return 1006; }
            }
        }

        async Task<bool> ArrivesAsync(Task receiving, TimeSpan time)
        {
            if (receiving.IsCompleted) return true;
            using (var stopped = new CancellationTokenSource())
            {
                var first = await Task.WhenAny(receiving, options.Transport.DelayAsync(time, stopped.Token));
                stopped.Cancel();
                return first == receiving;
            }
        }

        async Task TakeAsync(Attached attached, Document frame)
        {
            var p = frame.Object("p");
            switch (frame.Text("t"))
            {
                case "rpc.response": TakeAnswer(frame.Text("rid"), p); return;
                case "room.invited": Invited?.Invoke(p); return;
                case "match.found": MatchFound?.Invoke(p); return;
                case "match.pending": MatchPending?.Invoke(p); return;
                case "matchmaking.expired": QueueExpired?.Invoke(p); return;
            }
            if (frame.Text("room") != "") await TakeOfRoomAsync(attached, Room(frame.Text("room")), frame.Text("t"), p);
            FrameReceived?.Invoke(frame);
        }

        void TakeAnswer(string rid, Document answer)
        {
            if (pending.TryGetValue(rid, out var waiting)) waiting.TrySetResult(answer);
        }

        async Task TakeOfRoomAsync(Attached attached, Room room, string type, Document p)
        {
            switch (type)
            {
                case "state.snapshot":
                case "state.patch":
                    var answer = room.TakeState(type, p);
                    if (answer == null) return;
                    var about = new Dictionary<string, object>();
                    if (answer == "state.ack") about["seq"] = room.Seq;
                    await SendAsync(attached, new Dictionary<string, object> { { "t", answer }, { "room", room.Id }, { "p", about } });
                    return;
                case "room.message": room.TakeMessage(p); return;
                case "room.members": room.Sessions = p.Texts("members"); return;
                case "room.left":
                case "room.joined":
                case "room.dropped":
                case "room.reconnected":
                    if (type == "room.left" && p.Text("client_id") == Session) room.Forget();
                    room.RaisePresence(type.Substring("room.".Length), p);
                    return;
            }
        }
    }
}
