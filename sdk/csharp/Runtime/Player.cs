using System;
using System.Collections.Generic;
using System.Threading;
using System.Threading.Tasks;

namespace LatticeDirector
{
    /// <summary>Asks for seats in one session, for the caller or for a party with the caller.</summary>
    public sealed class MatchRequest
    {
        /// <summary>Such as "eu-west".</summary>
        public string Region;
        /// <summary>Such as "duel".</summary>
        public string Mode;
        /// <summary>The players to seat together, with the caller. Null: the caller alone.</summary>
        public IReadOnlyList<string> Party;
        /// <summary>The session's number of seats. 0: the mode's default.</summary>
        public int MaxPlayers;

        internal object ToJson()
        {
            var body = new Dictionary<string, object> { { "region", Region }, { "mode", Mode } };
            if (Party != null) body["party"] = Party;
            if (MaxPlayers != 0) body["max_players"] = MaxPlayers;
            return body;
        }
    }

    /// <summary>Asks for a match by the rules of profiles.</summary>
    public sealed class TicketRequest
    {
        /// <summary>The profiles to queue for. Null: those that take tickets which name none.</summary>
        public IReadOnlyList<string> Profiles;
        /// <summary>The players that must play together, with the caller. Null: the caller alone.</summary>
        public IReadOnlyList<string> Party;
        /// <summary>What rules compare: numbers, texts, or lists of texts.</summary>
        public Dictionary<string, object> Attributes;
        /// <summary>Attributes of single players of the party.</summary>
        public Dictionary<string, Dictionary<string, object>> PlayerAttributes;
        /// <summary>Whole milliseconds by region, of the member of the party that has the worst.</summary>
        public Dictionary<string, int> Latencies;

        internal object ToJson()
        {
            var body = new Dictionary<string, object>();
            if (Profiles != null) body["profiles"] = Profiles;
            if (Party != null) body["party"] = Party;
            if (Attributes != null) body["attributes"] = Attributes;
            if (Latencies != null) body["latencies"] = Map(Latencies, milliseconds => (object)milliseconds);
            if (PlayerAttributes != null) body["players"] = Map(PlayerAttributes, attributes => new Dictionary<string, object> { { "attributes", attributes } });
            return body;
        }

        static Dictionary<string, object> Map<T>(Dictionary<string, T> all, Func<T, object> change)
        {
            var changed = new Dictionary<string, object>();
            foreach (var entry in all) changed[entry.Key] = change(entry.Value);
            return changed;
        }
    }

    /// <summary>A session in which the caller has a seat.</summary>
    public class Match : Document
    {
        internal Match(Document answer) : this(answer.Fields) { }
        private protected Match(object fields) : base(fields) { }

        /// <summary>A secret that the session's players share.</summary>
        public string SessionHandle => Text("session_handle");
        /// <summary>The session's id.</summary>
        public string SessionId => Text("session_id");
        /// <summary>Where players connect.</summary>
        public string Endpoint => Text("endpoint");
        /// <summary>The session's region.</summary>
        public string Region => Text("region");
        /// <summary>The session's mode.</summary>
        public string Mode => Text("mode");
        /// <summary>The players who have a seat.</summary>
        public int PlayerCount => Whole("player_count");
        /// <summary>The session's number of seats.</summary>
        public int MaxPlayers => Whole("max_players");
    }

    /// <summary>Lets one player connect: to Endpoint, with SessionToken, within 2 minutes by default.</summary>
    public class Connection : Document
    {
        internal Connection(Document answer) : base(answer.Fields) { }

        /// <summary>Where to connect.</summary>
        public string Endpoint => Text("endpoint");
        /// <summary>A secret: show it to the game server in the first message.</summary>
        public string SessionToken => Text("session_token");
        /// <summary>The session's id.</summary>
        public string SessionId => Text("session_id");
    }

    /// <summary>A match with a session token, ready to connect to.</summary>
    public sealed class Seat : Match
    {
        internal Seat(Match match, Connection connection) : base(Merge(match, connection)) { }

        /// <summary>A secret: show it to the game server in the first message.</summary>
        public string SessionToken => Text("session_token");

        /// <summary>What resolve returns is newer than the match, which may be a stored answer.</summary>
        static object Merge(Match match, Connection connection)
        {
            var all = new Dictionary<string, object>();
            foreach (var field in match.Fields) all[field.Key] = field.Value;
            foreach (var field in connection.Fields) all[field.Key] = field.Value;
            return all;
        }
    }

    /// <summary>
    /// Makes the calls of one player. Calls may run at the same time. Without a cancellation token a call retries until the director
    /// decides. In an engine, await them on its main thread: what follows runs there, too.
    /// </summary>
    public sealed class Player
    {
        static readonly Call SeatCall = new Call { Method = "POST", Path = "/matchmake" };

        readonly Client client;

        /// <summary>Throws ArgumentException for options that cannot work. It does not connect.</summary>
        public Player(DirectorOptions options) { client = new Client(options, needsToken: true); }

        /// <summary>
        /// Takes seats and returns their session. A repeated call before the player connects returns the same seats; a player who lost the
        /// connection gets the running session back. Throws DirectorException: no_capacity, mode_unknown, region_unknown, party_conflict,
        /// invalid_request, unauthorized.
        /// </summary>
        public async Task<Match> MatchmakeAsync(MatchRequest request, CancellationToken cancel = default)
        {
            var call = new Call { Method = "POST", Path = "/matchmake", Body = request.ToJson(), IdempotencyKey = Chance.Key(), Region = request.Region };
            return Whole(call, new Match(await client.CallAsync(call, cancel)));
        }

        /// <summary>
        /// Exchanges a session handle for what the caller needs to connect. Each member of a party calls it with the handle that
        /// MatchmakeAsync returned to one of them. Throws DirectorException: no_seat, session_unknown, session_closed.
        /// </summary>
        public Task<Connection> ResolveAsync(string handle, CancellationToken cancel = default) => ResolveInAsync(null, handle, cancel);

        /// <summary>Is ResolveAsync with the region of the session; null: not known.</summary>
        async Task<Connection> ResolveInAsync(string region, string handle, CancellationToken cancel)
        {
            var call = new Call { Method = "POST", Path = "/resolve", Body = new Dictionary<string, object> { { "session_handle", handle } }, Region = region };
            var connection = new Connection(await client.CallAsync(call, cancel));
            return connection.SessionToken != "" ? connection : throw new UnreadableException(call.Name + ": the answer has no session token");
        }

        /// <summary>Returns a session's current state. Throws DirectorException: session_unknown, session_closed.</summary>
        public async Task<Match> SessionAsync(string id, CancellationToken cancel = default)
        {
            var call = new Call { Method = "GET", Path = "/sessions/" + Uri.EscapeDataString(id) };
            return Whole(call, new Match(await client.CallAsync(call, cancel)));
        }

        /// <summary>
        /// Calls MatchmakeAsync and then ResolveAsync. It starts again when the session closes or the seat expires between the two, and
        /// waits while there is no capacity; with awaitServers also for the first game server of a mode. Only the cancellation ends that.
        /// </summary>
        public async Task<Seat> SeatAsync(MatchRequest request, bool awaitServers = false, CancellationToken cancel = default)
        {
            var pacer = client.NewPacer();
            for (; ; )
            {
                try
                {
                    var match = await MatchmakeAsync(request, cancel);
                    return new Seat(match, await ResolveInAsync(match.Region, match.SessionHandle, cancel));
                }
                catch (DirectorException error) when (StartsAgain(error.Code, awaitServers))
                {
                    if (error.ServersStarting != null) pacer.Reset(); // the director forgets players who ask too late
                    await client.PauseAsync(SeatCall, pacer, error, cancel);
                }
            }
        }

        /// <summary>
        /// Puts the caller, or a party, into the queue. The same request again, by any member of the party, returns the same ticket. Throws
        /// DirectorException: profile_unknown, ticket_exists, party_conflict, party_too_large, cannot_match, invalid_request, unauthorized.
        /// </summary>
        public async Task<Ticket> QueueAsync(TicketRequest request, CancellationToken cancel = default)
        {
            var call = new Call { Method = "POST", Path = "/tickets", Body = request.ToJson(), IdempotencyKey = Chance.Key() };
            var status = TicketStatus.Of(call.Name, await client.CreateTicketAsync(call, cancel), null);
            return new Ticket(client, status.Id, status);
        }

        /// <summary>
        /// Returns the ticket with an id, for a member of the party that did not create it, or a game that was started again. A ticket of another
        /// cell is known to the Player that created it; elsewhere, QueueAsync returns it for the same request.
        /// </summary>
        public Ticket Ticket(string id) => new Ticket(client, id, null);

        static bool StartsAgain(string code, bool awaitServers)
        {
            if (code == "mode_unknown" || code == "region_unknown") return awaitServers;
            return code == "no_capacity" || code == "no_seat" || code == "session_unknown" || code == "session_closed";
        }

        static Match Whole(Call call, Match match) => match.SessionHandle != "" ? match : throw new UnreadableException(call.Name + ": the answer is no session");
    }
}
