using System.Collections.Generic;
using System.Text;

namespace LatticeDirector
{
    /// <summary>An event of a stream.</summary>
    struct StreamEvent
    {
        internal string Name, Data;
    }

    /// <summary>Parses a stream of server-sent events, as the HTML standard says. It holds at most one line and the data of one event.</summary>
    sealed class EventParser
    {
        readonly int most;
        readonly Decoder decoder = Encoding.UTF8.GetDecoder(); // a piece may end in the middle of a character
        readonly StringBuilder line = new StringBuilder();
        readonly List<string> data = new List<string>();
        string name = "";
        int size;
        bool afterCR;

        /// <summary>Bounds a line, and the data of an event, in characters.</summary>
        internal EventParser(int most = 64 << 10) { this.most = most; }

        /// <summary>Takes a piece of the stream and returns the events that it completes. Throws UnreachableException for what is too long: another replica may be readable.</summary>
        internal List<StreamEvent> Push(byte[] piece, int count)
        {
            var chars = new char[Encoding.UTF8.GetMaxCharCount(count)];
            var found = new List<StreamEvent>();
            for (int i = 0, n = decoder.GetChars(piece, 0, count, chars, 0); i < n; i++)
            {
                var c = chars[i];
                var isSecondOfCRLF = c == '\n' && afterCR;
                afterCR = c == '\r';
                if (isSecondOfCRLF) continue;
                if (c == '\n' || c == '\r') TakeLine(found);
                else if (line.Length < most) line.Append(c);
                else throw new UnreachableException("a line of the stream of events is too long");
            }
            return found;
        }

        void TakeLine(List<StreamEvent> found)
        {
            var text = line.ToString();
            line.Clear();
            if (text == "")
            {
                if (data.Count > 0) found.Add(new StreamEvent { Name = name, Data = string.Join("\n", data) });
                data.Clear();
                name = "";
                size = 0;
                return;
            }
            var colon = text.IndexOf(':');
            var value = colon < 0 ? "" : text.Substring(colon + 1);
            if (value.StartsWith(" ", System.StringComparison.Ordinal)) value = value.Substring(1);
            var field = colon < 0 ? text : text.Substring(0, colon);
            if (field == "event") name = value;
            if (field != "data") return;
            size += value.Length + 1;
            if (size > most) throw new UnreachableException("an event is too long");
            data.Add(value);
        }
    }
}
