using System;
using System.Collections.Generic;

namespace LatticeDirector
{
    /// <summary>
    /// What a client knows of other cells: installations that serve other regions of the title. It learns that from answers of the configured
    /// replicas alone, so nobody else can name an address to which the token is sent. Safe for concurrent use.
    /// </summary>
    sealed class Cells
    {
        readonly Places regions = new Places(), tickets = new Places();

        /// <summary>Returns the address of the cell that has what a call names; null if none is known.</summary>
        internal string AddressFor(Call call) => call.Ticket != null ? tickets.Find(call.Ticket) : regions.Find(call.Region);

        internal void RememberTicket(string id, string address)
        {
            if (address != null) tickets.Remember(id, address);
        }

        internal void ForgetRegion(string region) => regions.Forget(region);

        /// <summary>Returns where to ask in place of the replica that was asked, and remembers it; null if the answer was another.</summary>
        internal string Follow(string asked, Exception error)
        {
            if (!IsElsewhere(error)) return null;
            var answer = (DirectorException)error;
            var address = Checked(answer.Address, asked);
            if (address != null && answer.Region != "") regions.Remember(answer.Region, address);
            return address;
        }

        /// <summary>Whether another cell serves the region that a call names.</summary>
        internal static bool IsElsewhere(Exception error) => error is DirectorException answer && answer.Status == 421 && answer.Code == "region_elsewhere";

        /// <summary>Checks an address that a replica has named. A token that was sent by https is not sent in plain text.</summary>
        static string Checked(string address, string asked)
        {
            try
            {
                var found = Replicas.BaseOf(address, "http");
                return found.StartsWith("https:", StringComparison.Ordinal) || asked.StartsWith("http:", StringComparison.Ordinal) ? found : null;
            }
            catch (ArgumentException) { return null; }
        }

        /// <summary>Addresses of cells by what is there, of which the oldest are forgotten.</summary>
        sealed class Places
        {
            const int Most = 4096;

            readonly Dictionary<string, string> addresses = new Dictionary<string, string>();
            readonly Queue<string> oldest = new Queue<string>();

            internal string Find(string what)
            {
                lock (addresses) return what != null && addresses.TryGetValue(what, out var address) ? address : null;
            }

            internal void Remember(string what, string address)
            {
                lock (addresses)
                {
                    if (!addresses.ContainsKey(what)) oldest.Enqueue(what);
                    addresses[what] = address;
                    while (oldest.Count > Most) addresses.Remove(oldest.Dequeue());
                }
            }

            internal void Forget(string what)
            {
                lock (addresses) if (what != null) addresses.Remove(what);
            }
        }
    }
}
