using System;
using System.Collections.Generic;
using System.IO;
using System.Text;
using System.Threading;
using System.Threading.Tasks;

namespace LatticeDirector
{
    /// <summary>
    /// Returns the player's access token, which the game's own login issued. It is called before each attempt, so it should keep a valid
    /// token. With refresh the director has just refused that token: get a new one.
    /// </summary>
    public delegate Task<string> TokenSource(bool refresh);

    /// <summary>An attempt that failed and is repeated after a pause. The error has no token and no handle.</summary>
    public sealed class Retry
    {
        /// <summary>Such as "POST /matchmake".</summary>
        public string Call { get; internal set; }
        /// <summary>Why it failed.</summary>
        public Exception Error { get; internal set; }
        /// <summary>How long the client waits.</summary>
        public TimeSpan Pause { get; internal set; }
    }

    /// <summary>How a client reaches the director.</summary>
    public sealed class DirectorOptions
    {
        /// <summary>The base URLs of the director's replicas, such as "https://director.example". A path is kept as a prefix.</summary>
        public IReadOnlyList<string> Urls;
        /// <summary>The player's access token, for as long as it is valid.</summary>
        public string Token;
        /// <summary>In place of Token: returns it. Only a function can replace a token that has expired.</summary>
        public TokenSource TokenSource;
        /// <summary>Makes the requests. Default: the framework's.</summary>
        public ITransport Transport = HttpClientTransport.Default;
        /// <summary>Bounds one request to one replica, so that one that hangs does not hold up the call.</summary>
        public TimeSpan AttemptTimeout = TimeSpan.FromSeconds(5);
        /// <summary>The first pause between attempts. Pauses double up to MaxBackoff; each varies by half.</summary>
        public TimeSpan FirstBackoff = TimeSpan.FromMilliseconds(250);
        /// <summary>The longest pause between attempts, beside what the director asks for.</summary>
        public TimeSpan MaxBackoff = TimeSpan.FromSeconds(30);
        /// <summary>Is called before each pause, for logs and for "reconnecting…".</summary>
        public Action<Retry> OnRetry;
    }

    /// <summary>One call of the API, which may take several attempts.</summary>
    sealed class Call
    {
        internal string Method, Path;
        internal object Body;
        /// <summary>What the call names, as far as the client knows: it says which cell to ask. At most one is set.</summary>
        internal string Region, Ticket;
        internal string IdempotencyKey, LastEventId;
        /// <summary>How long the director may take to answer, in addition to the timeout of an attempt.</summary>
        internal TimeSpan Wait;
        /// <summary>A success may have no document.</summary>
        internal bool MayBeEmpty;
        /// <summary>No attempt follows one whose outcome is unknown.</summary>
        internal bool IsOnce;

        /// <summary>Names the call in errors, without its query.</summary>
        internal string Name => Method + " " + Path.Split('?')[0];
    }

    /// <summary>Passes a token to an attempt, and once a new one.</summary>
    sealed class AccessToken
    {
        readonly string text;
        readonly TokenSource source;
        Task<string> refreshing;

        internal AccessToken(string text, TokenSource source)
        {
            this.text = text;
            this.source = source;
        }

        internal bool CanRefresh => source != null;

        internal async Task<string> GetAsync(bool refresh, CancellationToken cancel)
        {
            cancel.ThrowIfCancellationRequested();
            if (source == null) return Checked(text);
            if (!refresh) return Checked(await source(false).OrCancelled(cancel));
            Task<string> shared; // calls that are refused together get one new token
            lock (source)
            {
                if (refreshing == null || refreshing.IsCompleted) refreshing = source(true);
                shared = refreshing;
            }
            return Checked(await shared.OrCancelled(cancel));
        }

        /// <summary>Refuses what a header cannot carry.</summary>
        static string Checked(string token)
        {
            var isPrintable = !string.IsNullOrEmpty(token);
            foreach (var c in token ?? "") isPrintable = isPrintable && c > ' ' && c < '\x7f';
            return isPrintable ? token : throw new ArgumentException("token: want the access token as a text without spaces");
        }
    }

    static class TaskExtensions
    {
        /// <summary>Waits for a task that knows no cancellation.</summary>
        internal static async Task<T> OrCancelled<T>(this Task<T> task, CancellationToken cancel)
        {
            var cancelled = new TaskCompletionSource<T>();
            using (cancel.Register(() => cancelled.TrySetCanceled())) return await await Task.WhenAny(task, cancelled.Task);
        }
    }

    /// <summary>Ends a wait: with the caller's token, or when the time is over.</summary>
    sealed class Deadline : IDisposable
    {
        readonly ITransport transport;
        readonly CancellationTokenSource source;
        CancellationTokenSource timer;
        bool isOver;

        internal Deadline(ITransport transport, TimeSpan time, CancellationToken parent)
        {
            this.transport = transport;
            source = CancellationTokenSource.CreateLinkedTokenSource(parent);
            Token = source.Token;
            Extend(time);
        }

        internal CancellationToken Token { get; }
        internal bool IsExpired { get; private set; }

        /// <summary>Begins the time anew.</summary>
        internal void Extend(TimeSpan time)
        {
            Pause();
            timer = new CancellationTokenSource();
            _ = ExpireAsync(time, timer.Token);
        }

        /// <summary>Stops the time.</summary>
        internal void Pause() => timer?.Cancel();

        async Task ExpireAsync(TimeSpan time, CancellationToken stopped)
        {
            try { await transport.DelayAsync(time, stopped); }
            catch (OperationCanceledException) { return; }
            lock (source)
            {
                if (isOver || stopped.IsCancellationRequested) return;
                IsExpired = true;
            }
            source.Cancel();
        }

        public void Dispose()
        {
            Pause();
            lock (source)
            {
                if (isOver) return;
                isOver = true;
            }
            if (!IsExpired) source.Dispose();
        }

        /// <summary>Turns what the network throws into UnreachableException. The caller's cancellation passes.</summary>
        internal async Task<T> ReachedAsync<T>(Func<Task<T>> work, CancellationToken parent)
        {
            try { return await work(); }
            catch (Exception error) when (!(error is UnreachableException))
            {
                parent.ThrowIfCancellationRequested();
                throw new UnreachableException(IsExpired ? "the director did not answer in time" : "the director is not reachable", error);
            }
        }
    }

    /// <summary>An answer, and the address of the cell that gave it; null: that of the configured replicas.</summary>
    sealed class Reached<T>
    {
        internal readonly T Answer;
        internal readonly string Cell;

        internal Reached(T answer, string cell)
        {
            Answer = answer;
            Cell = cell;
        }
    }

    /// <summary>Calls the replicas. Its only state is which of them failed lately, and which regions other cells serve. Safe for concurrent use.</summary>
    sealed class Client
    {
        const int MaxAnswer = 1 << 20; // the director's answers have some hundred bytes

        readonly DirectorOptions options;
        readonly Replicas replicas;
        readonly Cells cells = new Cells();
        readonly AccessToken token; // null: calls have none

        internal ITransport Transport => options.Transport;

        internal Client(DirectorOptions options, bool needsToken)
        {
            this.options = options;
            replicas = new Replicas(options.Urls, "http");
            if (needsToken) token = new AccessToken(options.Token, options.TokenSource);
        }

        internal Pacer NewPacer() => new Pacer(options.FirstBackoff, options.MaxBackoff);

        /// <summary>Waits before the next attempt.</summary>
        internal async Task PauseAsync(Call call, Pacer pacer, Exception error, CancellationToken cancel)
        {
            var pause = pacer.NextAfter(error);
            options.OnRetry?.Invoke(new Retry { Call = call.Name, Error = error, Pause = pause });
            await Transport.DelayAsync(pause, cancel);
        }

        /// <summary>Repeats a call until it has an answer that is not worth a retry.</summary>
        internal async Task<Document> CallAsync(Call call, CancellationToken cancel) => (await CallAtAsync(call, cancel)).Answer;

        /// <summary>Is CallAsync for a new ticket: the cell that creates it has it.</summary>
        internal async Task<Document> CreateTicketAsync(Call call, CancellationToken cancel)
        {
            var created = await CallAtAsync(call, cancel);
            cells.RememberTicket(created.Answer.Text("ticket_id"), created.Cell);
            return created.Answer;
        }

        /// <summary>Is CallAsync, and returns the address of the cell that answered; null: that of the configured replicas.</summary>
        async Task<Reached<Document>> CallAtAsync(Call call, CancellationToken cancel)
        {
            var pacer = NewPacer();
            var policy = new RetryPolicy();
            var refresh = new Refresh();
            for (; ; )
            {
                try { return await RoundAsync(call, refresh, AttemptAsync, cancel); }
                catch (Exception error) when (!(call.IsOnce && error is UnreachableException) && policy.Repeats(error))
                {
                    cancel.ThrowIfCancellationRequested();
                    await PauseAsync(call, pacer, error, cancel);
                }
            }
        }

        /// <summary>Opens a stream of events at the next replica that answers. The caller ends it.</summary>
        internal async Task<EventStream> StreamAsync(Call call, CancellationToken cancel) => (await RoundAsync(call, new Refresh(), OpenAsync, cancel)).Answer;

        /// <summary>Whether a call got a new token: once is enough.</summary>
        sealed class Refresh
        {
            internal bool IsDone;
        }

        delegate Task<T> Attempt<T>(string replica, Call call, string token, CancellationToken cancel);

        async Task<Reached<T>> RoundAsync<T>(Call call, Refresh refresh, Attempt<T> attempt, CancellationToken cancel)
        {
            try { return await ReachAsync(call, token == null ? null : await token.GetAsync(false, cancel), attempt, cancel); }
            catch (DirectorException error) when (error.Status == 401 && token != null && token.CanRefresh && !refresh.IsDone) { refresh.IsDone = true; }
            return await ReachAsync(call, await token.GetAsync(true, cancel), attempt, cancel);
        }

        /// <summary>
        /// Makes attempts until one is answered: at the cell that has what the call names, where the client knows it, else at the configured
        /// replicas. One answer of these that another cell has it is followed. A region is asked for again when its cell is not reachable or
        /// sends the client away; a ticket stays where it is.
        /// </summary>
        async Task<Reached<T>> ReachAsync<T>(Call call, string accessToken, Attempt<T> attempt, CancellationToken cancel)
        {
            var known = cells.AddressFor(call);
            if (known != null)
            {
                try { return new Reached<T>(await attempt(known, call, accessToken, cancel), known); }
                catch (Exception error) when (call.Ticket == null && (IsOfReplica(error) || Cells.IsElsewhere(error)))
                {
                    cancel.ThrowIfCancellationRequested();
                    cells.ForgetRegion(call.Region);
                }
            }
            string asked = null, next;
            Attempt<T> noting = (replica, what, secret, ends) =>
            {
                asked = replica;
                return attempt(replica, what, secret, ends);
            };
            try { return new Reached<T>(await TryReplicasAsync(call, accessToken, noting, cancel), null); }
            catch (DirectorException error)
            {
                next = cells.Follow(asked, error);
                if (next == null) throw;
            }
            return new Reached<T>(await attempt(next, call, accessToken, cancel), next);
        }

        static bool IsOfReplica(Exception error) => error is UnreachableException || (error as DirectorException)?.Code == "draining";

        /// <summary>Asks each replica in turn, without a pause: one that is unreachable or shutting down says nothing about the others.</summary>
        async Task<T> TryReplicasAsync<T>(Call call, string accessToken, Attempt<T> attempt, CancellationToken cancel)
        {
            for (var left = replicas.Count; ; left--)
            {
                var replica = replicas.Pick(DateTime.UtcNow);
                try { return await attempt(replica, call, accessToken, cancel); }
                catch (Exception error) when (IsOfReplica(error))
                {
                    cancel.ThrowIfCancellationRequested();
                    replicas.NoteFailure(replica, DateTime.UtcNow);
                    if (left <= 1 || call.IsOnce) throw;
                }
            }
        }

        async Task<Document> AttemptAsync(string replica, Call call, string accessToken, CancellationToken cancel)
        {
            using (var deadline = new Deadline(Transport, options.AttemptTimeout + call.Wait, cancel))
            using (var answer = await deadline.ReachedAsync(() => Transport.SendAsync(RequestOf(replica, call, accessToken, "application/json"), deadline.Token), cancel))
            {
                var text = await deadline.ReachedAsync(() => ReadAsync(answer, deadline.Token), cancel);
                if (answer.Status < 200 || answer.Status > 299) throw new DirectorException(call.Name, answer.Status, DocumentOf(text) ?? new Document(null), answer.Header);
                if (call.MayBeEmpty && text == "") return new Document(null);
                // The text is not quoted: it may contain a session token.
                return DocumentOf(text) ?? throw new UnreadableException(call.Name + ": the answer with status " + answer.Status + " is not a JSON object");
            }
        }

        async Task<EventStream> OpenAsync(string replica, Call call, string accessToken, CancellationToken cancel)
        {
            var deadline = new Deadline(Transport, options.AttemptTimeout, cancel);
            IHttpAnswer answer = null;
            try
            {
                answer = await deadline.ReachedAsync(() => Transport.SendAsync(RequestOf(replica, call, accessToken, "text/event-stream"), deadline.Token), cancel);
                if (answer.Status != 200)
                {
                    var text = await deadline.ReachedAsync(() => ReadAsync(answer, deadline.Token), cancel);
                    throw new DirectorException(call.Name, answer.Status, DocumentOf(text) ?? new Document(null), answer.Header);
                }
                var isStream = (answer.Header("Content-Type") ?? "").StartsWith("text/event-stream", StringComparison.Ordinal);
                return isStream ? new EventStream(answer, deadline, cancel) : throw new UnreachableException("the answer is no stream of events");
            }
            catch
            {
                answer?.Dispose();
                deadline.Dispose();
                throw;
            }
        }

        static HttpCall RequestOf(string replica, Call call, string accessToken, string accept)
        {
            var headers = new Dictionary<string, string> { { "Accept", accept + ", application/problem+json" } };
            if (accessToken != null) headers["Authorization"] = "Bearer " + accessToken;
            if (call.IdempotencyKey != null) headers["Idempotency-Key"] = call.IdempotencyKey;
            if (call.LastEventId != null) headers["Last-Event-ID"] = call.LastEventId;
            return new HttpCall { Method = call.Method, Url = replica + call.Path, Headers = headers, Body = call.Body == null ? null : Json.Write(call.Body) };
        }

        static async Task<string> ReadAsync(IHttpAnswer answer, CancellationToken cancel)
        {
            var whole = new MemoryStream();
            var buffer = new byte[16 << 10];
            for (int n; (n = await answer.ReadAsync(buffer, cancel)) > 0;)
            {
                whole.Write(buffer, 0, n);
                if (whole.Length > MaxAnswer) throw new UnreachableException("the answer has more than " + MaxAnswer + " bytes");
            }
            return Encoding.UTF8.GetString(whole.GetBuffer(), 0, (int)whole.Length);
        }

        /// <summary>Returns null for a text that is no object.</summary>
        internal static Document DocumentOf(string text)
        {
            try { return Json.Parse(text) is Dictionary<string, object> members ? new Document(members) : null; }
            catch (FormatException) { return null; }
        }
    }

    /// <summary>An open stream of events.</summary>
    sealed class EventStream : IDisposable
    {
        readonly IHttpAnswer answer;
        readonly Deadline deadline;
        readonly CancellationToken cancel;
        readonly byte[] buffer = new byte[16 << 10];

        internal EventStream(IHttpAnswer answer, Deadline deadline, CancellationToken cancel)
        {
            this.answer = answer;
            this.deadline = deadline;
            this.cancel = cancel;
        }

        /// <summary>Returns the events that the next piece completes; null at the end. Throws UnreachableException when nothing comes within the time.</summary>
        internal async Task<List<StreamEvent>> ReadAsync(EventParser parser, TimeSpan silence)
        {
            deadline.Extend(silence);
            var n = await deadline.ReachedAsync(() => answer.ReadAsync(buffer, deadline.Token), cancel);
            deadline.Pause(); // the time in which the program works on it does not count
            return n == 0 ? null : parser.Push(buffer, n);
        }

        public void Dispose()
        {
            answer.Dispose();
            deadline.Dispose();
        }
    }
}
