using System;
using System.Collections.Generic;
using System.Globalization;
using System.Text;

namespace LatticeDirector
{
    /// <summary>
    /// JSON as plain objects: null, bool, double, string, <see cref="List{T}"/> of object, and <see cref="Dictionary{TKey,TValue}"/> of
    /// string and object. Engines have no JSON in common, and reflection does not survive ahead-of-time compilation.
    /// </summary>
    public static class Json
    {
        const int MaxDepth = 64;

        /// <summary>Parses a text. Throws <see cref="FormatException"/>, which never quotes the text: it may have a token.</summary>
        public static object Parse(string text)
        {
            var reader = new Reader { Text = text };
            var value = reader.Read(MaxDepth);
            reader.SkipSpace();
            if (reader.At != text.Length) throw Reader.Wrong();
            return value;
        }

        /// <summary>Writes null, bool, numbers, strings, dictionaries with string keys, and sequences.</summary>
        public static string Write(object value)
        {
            var text = new StringBuilder();
            Write(text, value);
            return text.ToString();
        }

        static void Write(StringBuilder text, object value)
        {
            if (value == null || (value is double real && (double.IsNaN(real) || double.IsInfinity(real)))) text.Append("null");
            else if (value is bool) text.Append((bool)value ? "true" : "false");
            else if (value is string) WriteText(text, (string)value);
            else if (value is IDictionary<string, object>) WriteMembers(text, (IDictionary<string, object>)value);
            else if (value is System.Collections.IEnumerable) WriteItems(text, (System.Collections.IEnumerable)value);
            else if (value is IFormattable) text.Append(((IFormattable)value).ToString(value is double || value is float ? "R" : null, CultureInfo.InvariantCulture));
            else throw new ArgumentException("no value of JSON: " + value.GetType());
        }

        static void WriteMembers(StringBuilder text, IDictionary<string, object> members)
        {
            text.Append('{');
            var separator = "";
            foreach (var member in members)
            {
                text.Append(separator);
                WriteText(text, member.Key);
                text.Append(':');
                Write(text, member.Value);
                separator = ",";
            }
            text.Append('}');
        }

        static void WriteItems(StringBuilder text, System.Collections.IEnumerable items)
        {
            text.Append('[');
            var separator = "";
            foreach (var item in items)
            {
                text.Append(separator);
                Write(text, item);
                separator = ",";
            }
            text.Append(']');
        }

        static void WriteText(StringBuilder text, string plain)
        {
            text.Append('"');
            foreach (var c in plain)
            {
                if (c == '"' || c == '\\') text.Append('\\').Append(c);
                else if (c < ' ') text.Append("\\u").Append(((int)c).ToString("x4"));
                else text.Append(c);
            }
            text.Append('"');
        }

        sealed class Reader
        {
            public string Text;
            public int At;

            public static FormatException Wrong() => new FormatException("the text is not JSON");

            public object Read(int depth)
            {
                SkipSpace();
                if (depth == 0 || At == Text.Length) throw Wrong();
                switch (Text[At])
                {
                    case '{': return ReadMembers(depth);
                    case '[': return ReadItems(depth);
                    case '"': return ReadText();
                    case 't': return ReadWord("true", true);
                    case 'f': return ReadWord("false", false);
                    case 'n': return ReadWord("null", null);
                    default: return ReadNumber();
                }
            }

            public void SkipSpace()
            {
                while (At < Text.Length && (Text[At] == ' ' || Text[At] == '\t' || Text[At] == '\r' || Text[At] == '\n')) At++;
            }

            Dictionary<string, object> ReadMembers(int depth)
            {
                var members = new Dictionary<string, object>();
                At++;
                SkipSpace();
                if (Take('}')) return members;
                do
                {
                    SkipSpace();
                    var key = ReadText();
                    SkipSpace();
                    if (!Take(':')) throw Wrong();
                    members[key] = Read(depth - 1);
                    SkipSpace();
                } while (Take(','));
                if (!Take('}')) throw Wrong();
                return members;
            }

            List<object> ReadItems(int depth)
            {
                var items = new List<object>();
                At++;
                SkipSpace();
                if (Take(']')) return items;
                do
                {
                    items.Add(Read(depth - 1));
                    SkipSpace();
                } while (Take(','));
                if (!Take(']')) throw Wrong();
                return items;
            }

            object ReadWord(string word, object meant)
            {
                if (string.CompareOrdinal(Text, At, word, 0, word.Length) != 0) throw Wrong();
                At += word.Length;
                return meant;
            }

            object ReadNumber()
            {
                var begin = At;
                while (At < Text.Length && "+-.0123456789eE".IndexOf(Text[At]) >= 0) At++;
                const NumberStyles style = NumberStyles.AllowLeadingSign | NumberStyles.AllowDecimalPoint | NumberStyles.AllowExponent;
                if (!double.TryParse(Text.Substring(begin, At - begin), style, CultureInfo.InvariantCulture, out var number)) throw Wrong();
                return number;
            }

            string ReadText()
            {
                if (!Take('"')) throw Wrong();
                var text = new StringBuilder();
                while (At < Text.Length)
                {
                    var c = Text[At++];
                    if (c == '"') return text.ToString();
                    if (c < ' ') throw Wrong();
                    text.Append(c == '\\' ? ReadEscape() : c);
                }
                throw Wrong();
            }

            char ReadEscape()
            {
                if (At == Text.Length) throw Wrong();
                var c = Text[At++];
                var simple = "\"\\/bfnrt".IndexOf(c);
                if (simple >= 0) return "\"\\/\b\f\n\r\t"[simple];
                if (c != 'u' || At + 4 > Text.Length) throw Wrong();
                if (!ushort.TryParse(Text.Substring(At, 4), NumberStyles.AllowHexSpecifier, CultureInfo.InvariantCulture, out var code)) throw Wrong();
                At += 4;
                return (char)code;
            }

            bool Take(char c)
            {
                if (At == Text.Length || Text[At] != c) return false;
                At++;
                return true;
            }
        }
    }

    /// <summary>An object of the director's. What is absent, or of another type, reads as empty, so that answers of other releases need no care.</summary>
    public class Document
    {
        static readonly Dictionary<string, object> Nothing = new Dictionary<string, object>();

        /// <summary>All fields, also those of a newer director.</summary>
        public IReadOnlyDictionary<string, object> Fields { get; }

        /// <summary>Reads the fields of a value of <see cref="Json"/>; none if it is no object.</summary>
        public Document(object value) { Fields = value as Dictionary<string, object> ?? Nothing; }

        /// <summary>A text; empty if there is none.</summary>
        public string Text(string name) => Value(name) as string ?? "";
        /// <summary>A number.</summary>
        public double Number(string name, double otherwise = 0) => Value(name) is double number ? number : otherwise;
        /// <summary>A whole number; 0 for one that an int does not hold.</summary>
        public int Whole(string name) => Value(name) is double number && Math.Abs(number) <= int.MaxValue ? (int)number : 0;
        /// <summary>Whether a value is true.</summary>
        public bool Truth(string name) => Value(name) is bool truth && truth;
        /// <summary>An object.</summary>
        public Document Object(string name) => new Document(Value(name));
        /// <summary>The objects of a list.</summary>
        public Document[] Objects(string name) => List(name).ConvertAll(item => new Document(item)).ToArray();
        /// <summary>The texts of a list.</summary>
        public string[] Texts(string name) => List(name).ConvertAll(item => item as string ?? "").ToArray();
        /// <summary>A value as <see cref="Json"/> has it; null if there is none.</summary>
        public object Value(string name) => Fields.TryGetValue(name, out var value) ? value : null;

        List<object> List(string name) => Value(name) as List<object> ?? new List<object>();
    }
}
