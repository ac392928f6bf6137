using System;
using System.Collections.Generic;

namespace LatticeDirector
{
    /// <summary>Random numbers for pauses and keys, which need not be secret.</summary>
    static class Chance
    {
        static readonly Random Source = new Random(Guid.NewGuid().GetHashCode());

        internal static double Share() { lock (Source) return Source.NextDouble(); }
        internal static string Key() => Guid.NewGuid().ToString("N");
    }

    /// <summary>
    /// The base URLs of the replicas by turns, without those that failed within the last 2 s, about the time of a restart. It starts at a
    /// random one, so that clients that start together do not all call the same. Safe for concurrent use.
    /// </summary>
    sealed class Replicas
    {
        static readonly TimeSpan Cooldown = TimeSpan.FromSeconds(2);

        readonly string[] bases;
        readonly DateTime[] skipUntil;
        int turn;

        internal int Count => bases.Length;

        internal Replicas(IReadOnlyList<string> urls, string scheme)
        {
            if (urls == null || urls.Count == 0) throw new ArgumentException("urls: want the URL of at least one replica");
            bases = new string[urls.Count];
            for (var i = 0; i < bases.Length; i++) bases[i] = BaseOf(urls[i], scheme);
            skipUntil = new DateTime[bases.Length];
            turn = (int)(Chance.Share() * bases.Length);
        }

        internal string Pick(DateTime now)
        {
            lock (bases)
            {
                var best = turn;
                for (var i = 0; i < Count; i++)
                {
                    var next = (turn + i) % Count;
                    if (skipUntil[next] < skipUntil[best]) best = next;
                    if (skipUntil[next] > now) continue;
                    best = next;
                    break;
                }
                turn = (best + 1) % Count;
                return bases[best];
            }
        }

        internal void NoteFailure(string failed, DateTime now)
        {
            lock (bases)
            {
                for (var i = 0; i < Count; i++) if (bases[i] == failed) skipUntil[i] = now + Cooldown;
            }
        }

        /// <summary>Checks a URL. The error never quotes it, because a wrong one may have a password.</summary>
        internal static string BaseOf(string url, string scheme)
        {
            var isUrl = Uri.TryCreate((url ?? "").Trim(), UriKind.Absolute, out var parsed);
            if (!isUrl || (parsed.Scheme != scheme && parsed.Scheme != scheme + "s") || parsed.UserInfo != "" || parsed.Query != "" || parsed.Fragment != "")
                throw new ArgumentException("urls: want " + scheme + "(s)://host[:port][/prefix], without a user or a query");
            return parsed.AbsoluteUri.TrimEnd('/');
        }
    }

    /// <summary>
    /// Says how long to wait before the next attempt: a backoff that doubles and varies by half, plus the last answer's Retry-After of at
    /// most a minute. The sum and not the larger one: otherwise all clients that got the same Retry-After would return together.
    /// </summary>
    sealed class Pacer
    {
        readonly TimeSpan first, most;
        TimeSpan interval;

        internal Pacer(TimeSpan first, TimeSpan most)
        {
            this.first = interval = first;
            this.most = most;
        }

        internal TimeSpan Next()
        {
            var pause = interval.TotalMilliseconds * (0.5 + Chance.Share());
            interval = TimeSpan.FromMilliseconds(Math.Min(2 * interval.TotalMilliseconds, most.TotalMilliseconds));
            return TimeSpan.FromMilliseconds(pause);
        }

        internal TimeSpan NextAfter(Exception error)
        {
            var refusal = error as DirectorException;
            var least = refusal?.Code == "no_capacity" ? 1 : 0; // capacity does not come back within a moment
            return TimeSpan.FromSeconds(Math.Min(refusal?.RetryAfter ?? least, 60)) + Next();
        }

        internal void Reset() => interval = first;
    }

    /// <summary>Decides whether a call is repeated. One for each call, because an internal error is repeated once.</summary>
    sealed class RetryPolicy
    {
        int internalErrors;

        internal bool Repeats(Exception error)
        {
            if (error is UnreachableException) return true;
            if (!(error is DirectorException refusal)) return false;
            return refusal.Status == 500 ? ++internalErrors == 1 : refusal.IsTemporary;
        }
    }
}
