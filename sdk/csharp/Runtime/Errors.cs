using System;
using System.Collections.Generic;
using System.Globalization;

namespace LatticeDirector
{
    /// <summary>The director, or a sidecar, refused a call. Branch on <see cref="Code"/>, and on <see cref="Status"/> where that is empty.</summary>
    public class DirectorException : Exception
    {
        const int MaxTextLength = 1000; // what a stranger sends must not fill a log

        /// <summary>Method and path, such as "POST /matchmake".</summary>
        public string Call { get; }
        /// <summary>The status of HTTP.</summary>
        public int Status { get; }
        /// <summary>The stable reason, such as "no_capacity". A newer director may send others.</summary>
        public string Code { get; }
        /// <summary>The reason for people. It may change.</summary>
        public string Detail { get; }
        /// <summary>With status 400, each invalid field and what is wrong with it.</summary>
        public IReadOnlyList<KeyValuePair<string, string>> InvalidFields { get; }
        /// <summary>Identifies the request in the director's log: quote it when you ask for help.</summary>
        public string RequestId { get; }
        /// <summary>Seconds that the director asks to wait; null if it asks for none.</summary>
        public double? RetryAfter { get; }
        /// <summary>With no_capacity, how many game servers start now; null where the director starts none.</summary>
        public int? ServersStarting { get; }
        /// <summary>With ticket_exists and party_conflict, the ticket with which the caller waits; empty if there is none.</summary>
        public string TicketId { get; }

        /// <summary>With region_elsewhere, the region that another cell serves, and the address of that cell. The client follows it where it may.</summary>
        public string Region { get; }
        /// <summary>See Region.</summary>
        public string Address { get; }

        internal DirectorException(string call, int status, Document problem, Func<string, string> header)
            : base(string.Join(" ", call + ":", status.ToString(CultureInfo.InvariantCulture), Short(problem.Text("code")), Short(DetailOf(problem))).TrimEnd())
        {
            Call = call;
            Status = status;
            Code = Short(problem.Text("code"));
            Detail = Short(DetailOf(problem));
            InvalidFields = Array.ConvertAll(problem.Objects("errors"), field => new KeyValuePair<string, string>(Short(field.Text("field")), Short(field.Text("detail"))));
            RequestId = Short(header("X-Request-Id"));
            RetryAfter = ParseRetryAfter(header("Retry-After"), DateTimeOffset.UtcNow);
            if (problem.Value("servers_starting") is double) ServersStarting = problem.Whole("servers_starting");
            TicketId = problem.Text("ticket_id");
            Region = Short(problem.Text("region"));
            Address = Short(problem.Text("address"));
        }

        /// <summary>Whether a retry may succeed.</summary>
        internal bool IsTemporary => Status == 408 || Status == 429 || Status == 502 || Status == 503 || Status == 504;

        static string DetailOf(Document problem) => problem.Text("detail") != "" ? problem.Text("detail") : problem.Text("title");

        internal static string Short(string text) => text != null && text.Length > MaxTextLength ? text.Substring(0, MaxTextLength) : text ?? "";

        /// <summary>Parses seconds or an HTTP date. Any other value counts as absent, and a past date as 0.</summary>
        internal static double? ParseRetryAfter(string value, DateTimeOffset now)
        {
            if (string.IsNullOrEmpty(value)) return null;
            if (value.Length <= 9 && int.TryParse(value, NumberStyles.None, CultureInfo.InvariantCulture, out var seconds)) return seconds;
            var isDate = DateTimeOffset.TryParseExact(value, "r", CultureInfo.InvariantCulture, DateTimeStyles.AssumeUniversal, out var at);
            return isDate ? Math.Max(0, (at - now).TotalSeconds) : (double?)null;
        }
    }

    /// <summary>No replica answered. The director may or may not have applied the call. Calls repeat it, so only OnRetry sees it.</summary>
    public class UnreachableException : Exception
    {
        internal UnreachableException(string message, Exception cause = null) : base(message, cause) { }
    }

    /// <summary>An answer that no director sends. A retry does not help: the address is probably another program's.</summary>
    public class UnreadableException : Exception
    {
        internal UnreadableException(string message) : base(message) { }
    }
}
