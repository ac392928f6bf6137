using System;
using System.Threading;
using System.Threading.Tasks;

namespace LatticeDirector
{
    /// <summary>A ticket as one of its players sees it. Which fields it has depends on its state.</summary>
    public sealed class TicketStatus : Document
    {
        TicketStatus(Document answer) : base(answer.Fields) { }

        /// <summary>The ticket's id.</summary>
        public string Id => Text("ticket_id");
        /// <summary>
        /// queued, paused, matched, accepting, waiting_for_server, assigned, declined, cancelled, expired. Treat one that you do not know as
        /// queued: a newer director may send it.
        /// </summary>
        public string State => Text("state");
        /// <summary>Counts the states.</summary>
        public int Version => Whole("version");
        /// <summary>Whether the ticket has left the queue.</summary>
        public bool IsFinal => State == "assigned" || State == "declined" || State == "cancelled" || State == "expired";
        /// <summary>The players.</summary>
        public string[] Party => Texts("party");
        /// <summary>The place in line, from 1; 0: not known.</summary>
        public int Place => Whole("place");
        /// <summary>Seconds within which half of such tickets are matched; null: not known.</summary>
        public double? Estimate => Object("estimate").Value("p50") as double?;
        /// <summary>Seconds within which nine of ten of such tickets are matched; null: not known.</summary>
        public double? EstimateMost => Object("estimate").Value("p90") as double?;
        /// <summary>In accepting: give it to AcceptAsync and DeclineAsync.</summary>
        public string MatchId => Text("match_id");
        /// <summary>In accepting: how many players there are, and how many of them have accepted.</summary>
        public (int Players, int Accepted) Answers => (Object("accept").Whole("players"), Object("accept").Whole("accepted"));
        /// <summary>In assigned, a secret: give it to ResolveAsync.</summary>
        public string SessionHandle => Text("session_handle");
        /// <summary>In assigned: the caller's team.</summary>
        public string Team => Text("team");
        /// <summary>Why the ticket left the queue, for programs.</summary>
        public string Reason => Text("reason");
        /// <summary>Why the ticket left the queue, for people.</summary>
        public string Detail => Text("detail");

        /// <summary>Returns a document as the ticket with an id, or any if that is null.</summary>
        internal static TicketStatus Of(string call, Document answer, string id)
        {
            var status = new TicketStatus(answer);
            var isWhole = status.Id != "" && status.State != "" && status.Value("version") is double;
            return isWhole && (id == null || status.Id == id) ? status : throw new UnreadableException(call + ": the answer is not the ticket");
        }

        internal bool IsSame(TicketStatus other)
            => Version == other.Version && State == other.State && Json.Write(Value("step")) == Json.Write(other.Value("step"));
    }

    /// <summary>
    /// A ticket in the queue. It stays there while one of its players watches it or asks for it; 30 seconds later it expires. At most one
    /// NextAsync or WatchAsync may run at a time; the other methods may run beside it.
    /// </summary>
    public sealed class Ticket
    {
        const int PollSeconds = 25, StreamFailures = 3; // after so many streams in a row that brought no event the client polls
        static readonly TimeSpan Silence = TimeSpan.FromSeconds(45); // the director sends a comment every 15 s
        static readonly TimeSpan Steady = TimeSpan.FromSeconds(10); // after such a life of a stream the next failure counts as the first

        readonly Client client;

        internal Ticket(Client client, string id, TicketStatus status)
        {
            this.client = client;
            Id = id;
            Status = status;
        }

        /// <summary>The ticket's id, which the members of a party send each other.</summary>
        public string Id { get; }
        /// <summary>The last state that QueueAsync, NextAsync or WatchAsync received; null before the first.</summary>
        public TicketStatus Status { get; private set; }

        /// <summary>
        /// Calls onStatus with the ticket's states: the current one first or, after NextAsync or an earlier WatchAsync, those that the
        /// program has missed. A waiting ticket comes again when one of its rules widens. It returns after a final state. Where a stream of
        /// events breaks, it connects again without a loss, also to another replica; where streams bring nothing, it polls.
        /// </summary>
        public async Task WatchAsync(Action<TicketStatus> onStatus, CancellationToken cancel = default)
        {
            if (Status != null && Status.IsFinal)
            {
                onStatus(Status);
                return;
            }
            var watch = new Watch { OnStatus = onStatus };
            var pacer = client.NewPacer();
            var policy = new RetryPolicy();
            for (var empty = 0; empty < StreamFailures;)
            {
                var call = EventsCall();
                var opened = DateTime.UtcNow;
                var seenBefore = watch.Seen;
                Exception failure = new UnreachableException("the stream of events has ended");
                try
                {
                    if (await FollowStreamAsync(call, watch, cancel)) return;
                }
                catch (Exception error) when (!cancel.IsCancellationRequested && policy.Repeats(error)) { failure = error; }
                empty = watch.Seen > seenBefore ? 0 : empty + 1;
                if (watch.Seen > seenBefore && DateTime.UtcNow - opened >= Steady) pacer.Reset();
                await client.PauseAsync(call, pacer, failure, cancel);
            }
            for (var status = await ReadAsync(cancel); !Take(watch, status); status = await NextAsync(cancel)) { }
        }

        /// <summary>
        /// Waits until the ticket enters another state than Status, and returns it. Without a Status it returns the current state, and after
        /// a final one that again. Throws DirectorException: ticket_unknown, ticket_ended some minutes after the ticket left.
        /// </summary>
        public async Task<TicketStatus> NextAsync(CancellationToken cancel = default)
        {
            var known = Status;
            if (known != null && known.IsFinal) return known;
            var pacer = client.NewPacer();
            for (; ; )
            {
                var asked = DateTime.UtcNow;
                var path = Path + "?wait=" + PollSeconds + "s&version=" + (known?.Version ?? 0);
                Status = await AskAsync(new Call { Method = "GET", Path = path, Wait = TimeSpan.FromSeconds(PollSeconds) }, cancel);
                if (known == null || Status.Version != known.Version || Status.State != known.State) return Status;
                if (DateTime.UtcNow - asked >= TimeSpan.FromSeconds(PollSeconds / 2)) pacer.Reset();
                else await client.Transport.DelayAsync(pacer.Next(), cancel); // a replica that stops answers early
            }
        }

        /// <summary>Reads the ticket now, such as for its Place, which changes without a new state. It does not change Status.</summary>
        public Task<TicketStatus> ReadAsync(CancellationToken cancel = default) => AskAsync(new Call { Method = "GET", Path = Path }, cancel);

        /// <summary>Takes the ticket out of the queue for the whole party: it is then in no match. Throws DirectorException: assigned, matched, too_late.</summary>
        public Task<TicketStatus> CancelAsync(CancellationToken cancel = default) => AskAsync(new Call { Method = "DELETE", Path = Path }, cancel);

        /// <summary>Accepts the match of the status in which the player was asked. Throws DirectorException: too_late, also for another match.</summary>
        public Task<TicketStatus> AcceptAsync(string matchId, CancellationToken cancel = default) => AnswerAsync("/accept", matchId, cancel);

        /// <summary>Declines it; the caller's party leaves the queue. Throws DirectorException: too_late.</summary>
        public Task<TicketStatus> DeclineAsync(string matchId, CancellationToken cancel = default) => AnswerAsync("/decline", matchId, cancel);

        string Path => "/tickets/" + Uri.EscapeDataString(Id);

        Call EventsCall() => new Call { Method = "GET", Path = Path + "/events", Ticket = Id, LastEventId = Status?.Version.ToString(System.Globalization.CultureInfo.InvariantCulture) };

        Task<TicketStatus> AnswerAsync(string answer, string matchId, CancellationToken cancel)
        {
            if (string.IsNullOrEmpty(matchId)) throw new ArgumentException("want the MatchId of the status in which the player was asked", nameof(matchId));
            var body = new System.Collections.Generic.Dictionary<string, object> { { "match_id", matchId } };
            return AskAsync(new Call { Method = "POST", Path = Path + answer, Body = body }, cancel);
        }

        async Task<TicketStatus> AskAsync(Call call, CancellationToken cancel)
        {
            call.Ticket = Id;
            return TicketStatus.Of(call.Name, await client.CallAsync(call, cancel), Id);
        }

        /// <summary>What a watch has seen.</summary>
        sealed class Watch
        {
            internal Action<TicketStatus> OnStatus;
            internal TicketStatus Last;
            internal int Seen;
        }

        /// <summary>Takes the states of one stream. Returns whether a final one was among them; throws when it breaks or is unreadable.</summary>
        async Task<bool> FollowStreamAsync(Call call, Watch watch, CancellationToken cancel)
        {
            var parser = new EventParser();
            using (var stream = await client.StreamAsync(call, cancel))
            {
                for (System.Collections.Generic.List<StreamEvent> events; (events = await stream.ReadAsync(parser, Silence)) != null;)
                {
                    foreach (var found in events) if (Take(watch, ReadEvent(call, found))) return true;
                }
            }
            return false;
        }

        TicketStatus ReadEvent(Call call, StreamEvent found)
        {
            try { return TicketStatus.Of(call.Name, Client.DocumentOf(found.Data) ?? new Document(null), Id); }
            catch (UnreadableException) { throw new UnreachableException("the stream of events is unreadable"); } // another replica, or a poll, may be readable
        }

        /// <summary>Shows a state, unless the program knows it: a new stream begins with the current one. Returns whether it is final.</summary>
        bool Take(Watch watch, TicketStatus status)
        {
            watch.Seen++;
            var last = watch.Last;
            if (last == null || (status.Version >= last.Version && !status.IsSame(last)))
            {
                watch.Last = Status = status;
                watch.OnStatus(status);
            }
            return status.IsFinal;
        }
    }
}
