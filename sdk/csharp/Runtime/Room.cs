using System;
using System.Collections.Generic;
using System.Threading;
using System.Threading.Tasks;

namespace LatticeDirector
{
    /// <summary>A member of a party, a lobby or a match.</summary>
    public sealed class Member : Document
    {
        internal Member(string session, object value) : base(value) { Session = session; }

        /// <summary>The member's session.</summary>
        public string Session { get; }
        /// <summary>What it calls itself.</summary>
        public string Name => Text("name");
        /// <summary>In a lobby.</summary>
        public bool IsReady => Truth("ready");
        /// <summary>In a lobby: a text or a number; null: none.</summary>
        public object Team => Value("team");
        /// <summary>Its connection has ended, while its session has not.</summary>
        public bool IsAway => Truth("away");
    }

    /// <summary>A room. The same object for as long as the client lives, whether it is a member or not.</summary>
    public sealed class Room
    {
        readonly Lobby lobby;
        double heardPosition = -1, heardIndex;

        internal Room(Lobby lobby, string id)
        {
            this.lobby = lobby;
            Id = id;
        }

        /// <summary>Such as "party:7f3a".</summary>
        public string Id { get; }
        /// <summary>The type with which the client joined; empty before.</summary>
        public string Type { get; internal set; } = "";
        /// <summary>Empty while the client is no member. A new object for each change.</summary>
        public Document State { get; private set; } = new Document(null);
        /// <summary>The sessions in the room.</summary>
        public string[] Sessions { get; internal set; } = new string[0];
        /// <summary>Counts the changes of the state; 0: the client is no member.</summary>
        public int Seq { get; private set; }
        /// <summary>With which the client joined; null: it did not.</summary>
        internal Dictionary<string, object> JoinOptions { get; set; }

        /// <summary>The room has another state.</summary>
        public event Action StateChanged;
        /// <summary>A message: type, data, and from, the session that sent it.</summary>
        public event Action<Document> MessageReceived;
        /// <summary>A session has joined, left, dropped or reconnected: client_id, and reason of one that has left.</summary>
        public event Action<string, Document> PresenceChanged;

        /// <summary>Such as "open" and "queued".</summary>
        public string Phase => State.Text("phase");
        /// <summary>Whether this client owns the party or the lobby.</summary>
        public bool IsOwner => lobby.Session != "" && State.Text("owner") == lobby.Session;
        /// <summary>This client as a member; null if it is none.</summary>
        public Member Me => Array.Find(Members, member => member.Session == lobby.Session);

        /// <summary>The members of a party, a lobby or a match.</summary>
        public Member[] Members
        {
            get
            {
                var all = new List<Member>();
                foreach (var entry in State.Fields)
                    if (entry.Key.StartsWith("m:", StringComparison.Ordinal)) all.Add(new Member(entry.Key.Substring(2), entry.Value));
                return all.ToArray();
            }
        }

        /// <summary>Sends a message and waits until the room has accepted it. It is not repeated. Types of the game's own begin with "x.".</summary>
        public Task SendAsync(string type, object data = null, CancellationToken cancel = default) => MessageAsync(type, data, false, cancel);
        /// <summary>Sends a line of chat, a message of the type "say".</summary>
        public Task SayAsync(string text, CancellationToken cancel = default) => SendAsync("say", With("text", text), cancel);
        /// <summary>Invites a player, by the sub of its token, for 5 minutes. Returns how many of its connections that has reached.</summary>
        public async Task<int> InviteAsync(string player, CancellationToken cancel = default) => (await MessageAsync("invite", With("player", player), true, cancel)).Whole("reached");
        /// <summary>In a lobby. A change takes all members out of the queue.</summary>
        public Task ReadyAsync(bool ready, CancellationToken cancel = default) => MessageAsync("ready", With("ready", ready), true, cancel);
        /// <summary>In a lobby: a text or a number; null takes it back.</summary>
        public Task TeamAsync(object team, CancellationToken cancel = default) => MessageAsync("team", With("team", team), true, cancel);
        /// <summary>Changes a setting of a lobby; null deletes it. For the owner.</summary>
        public Task SetAsync(string key, object value, CancellationToken cancel = default)
            => MessageAsync("set", new Dictionary<string, object> { { "key", key }, { "value", value } }, true, cancel);
        /// <summary>Removes a member. For the owner.</summary>
        public Task KickAsync(string session, CancellationToken cancel = default) => SendAsync("kick", With("session", session), cancel);
        /// <summary>The members of a party queue together: room_type, size, attributes, latencies. For the owner.</summary>
        public Task QueueAsync(Dictionary<string, object> request, CancellationToken cancel = default) => SendAsync("queue", request, cancel);
        /// <summary>The members of a lobby queue together, if all are ready and connected. For the owner.</summary>
        public Task StartAsync(Dictionary<string, object> request = null, CancellationToken cancel = default) => SendAsync("start", request, cancel);
        /// <summary>Takes the members out of the queue.</summary>
        public Task CancelQueueAsync(CancellationToken cancel = default) => MessageAsync("cancel", null, true, cancel);
        /// <summary>Returns what is needed to connect to the game server of a match. Throws LobbyException: refused for a match without one.</summary>
        public async Task<Connection> ResolveAsync(CancellationToken cancel = default) => new Connection(await lobby.RequestAsync("match.resolve", null, Id, true, cancel));

        /// <summary>Leaves the room, or declines an invitation to it.</summary>
        public async Task LeaveAsync(CancellationToken cancel = default)
        {
            try { await lobby.RequestAsync("room.leave", null, Id, true, cancel); }
            catch (LobbyException error) when (error.Code == "not_a_member" || error.Code == "room_not_found") { } // it has left already
            Forget();
        }

        Task<Document> MessageAsync(string type, object data, bool mayRepeat, CancellationToken cancel)
        {
            var message = new Dictionary<string, object> { { "type", type }, { "data", data ?? new Dictionary<string, object>() } };
            return lobby.RequestAsync("room.message", message, Id, mayRepeat, cancel);
        }

        static Dictionary<string, object> With(string name, object value) => new Dictionary<string, object> { { name, value } };

        /// <summary>Takes a snapshot or a patch, and returns the type of the answer that the director must get; null: none.</summary>
        internal string TakeState(string type, Document p)
        {
            var seq = p.Whole("seq");
            if (type == "state.snapshot")
            {
                if (!(p.Value("state") is Dictionary<string, object>)) return null;
                State = p.Object("state");
            }
            else
            {
                if (Seq == 0 || seq > Seq + 1) return "state.resync";
                if (seq <= Seq) return null; // a snapshot had it
                State = Patched(p.Objects("ops"));
            }
            Seq = seq;
            StateChanged?.Invoke();
            return "state.ack";
        }

        Document Patched(Document[] ops)
        {
            var next = new Dictionary<string, object>();
            foreach (var entry in State.Fields) next[entry.Key] = entry.Value;
            foreach (var op in ops)
            {
                var path = op.Text("path");
                var key = (path == "" ? "" : path.Substring(1)).Replace("~1", "/").Replace("~0", "~");
                if (op.Text("op") == "del") next.Remove(key);
                else next[key] = op.Value("value");
            }
            return new Document(next);
        }

        /// <summary>Takes a message, unless the room has heard it before its connection ended.</summary>
        internal void TakeMessage(Document message)
        {
            var numbers = (message.Text("id") + ".0").Split('.');
            double.TryParse(numbers[0], out var position);
            double.TryParse(numbers[1], out var index);
            var isHeard = position < heardPosition || (position == heardPosition && index <= heardIndex);
            if (message.Truth("repeated") && isHeard) return;
            if (!isHeard) (heardPosition, heardIndex) = (position, index);
            MessageReceived?.Invoke(message);
        }

        internal void RaisePresence(string what, Document who) => PresenceChanged?.Invoke(what, who);

        /// <summary>The client is no member any more.</summary>
        internal void Forget()
        {
            heardPosition = -1;
            State = new Document(null);
            Sessions = new string[0];
            Seq = 0;
            JoinOptions = null;
        }
    }
}
