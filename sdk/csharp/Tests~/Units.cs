// Tests of the parts that need no network: JSON, events, pauses, URLs. Compiled together with the package.
using System;
using System.Collections.Generic;
using System.Globalization;
using System.Linq;
using System.Text;
using System.Threading;
using LatticeDirector;

static class Units
{
    static int Main()
    {
        Thread.CurrentThread.CurrentCulture = new CultureInfo("de-DE"); // a decimal comma is no JSON
        JsonIsReadAndWritten();
        EventsAreTheSameHoweverTheStreamIsCut();
        PausesGrow();
        UrlsAreChecked();
        OnlyCellsAreFollowed();
        RefusalsOfStrangersAreBounded();
        CoroutinesEnd();
        return 0;
    }

    static void Check(bool holds, string what)
    {
        if (!holds) throw new Exception("does not hold: " + what);
    }

    static bool Throws<T>(Action work) where T : Exception
    {
        try { work(); }
        catch (T) { return true; }
        return false;
    }

    static void JsonIsReadAndWritten()
    {
        foreach (var text in new[] { "null", "true", "[]", "{}", "[1,-2.5,\"x\",{\"a\":[]}]", "{\"\":\"\"}", "9007199254740991", "\"\\\"\\\\\"" })
            Check(Json.Write(Json.Parse(text)) == text, text + " is kept");
        Check(Json.Write(new Dictionary<string, object> { { "a", 1 }, { "b", new[] { "x" } }, { "c", 0.5f }, { "d", double.NaN } }) == "{\"a\":1,\"b\":[\"x\"],\"c\":0.5,\"d\":null}", "plain objects");
        Check((string)Json.Parse("\"\\u00e9\\ud83d\\ude00\\/\\b\\f\\n\\r\\t\"") == "é😀/\b\f\n\r\t", "escapes");
        Check(Json.Write("\u0001") == "\"\\u0001\"", "controls are escaped");
        Check((double)Json.Parse("1e3") == 1000 && (double)Json.Parse("-0.25") == -0.25, "numbers");
        foreach (var text in new[] { "", "{", "[1,]", "{\"a\":1,}", "[,1]", "{\"a\"}", "{a:1}", "tru", "\"", "\"\n\"", "\"\\x\"", "\"\\u12\"", "1 2", "[1 2]", "--1", "nullx" })
            Check(Throws<FormatException>(() => Json.Parse(text)), "refuses " + text);
        Check(Throws<FormatException>(() => Json.Parse(new string('[', 100000))), "depth is bounded");
        var absent = new Document(null).Object("a");
        Check(absent.Text("b") == "" && absent.Whole("b") == 0 && absent.Objects("b").Length == 0, "absent values are empty");
        Check(new Document(Json.Parse("{\"a\":1e300}")).Whole("a") == 0, "huge numbers");
    }

    static void EventsAreTheSameHoweverTheStreamIsCut()
    {
        var whole = Encoding.UTF8.GetBytes("data: one\n\n: comment\r\nevent: x\r\nid: 7\r\ndata:two\r\ndata\r\ndata:  three\r\n\r\nretry: 5\rdata: four\r\r\n\ndata: é\n\nignored\n\ndata: cut");
        for (var size = 1; size <= whole.Length; size++)
        {
            var parser = new EventParser();
            var all = "";
            for (var at = 0; at < whole.Length; at += size)
                foreach (var found in parser.Push(whole.Skip(at).Take(size).ToArray(), Math.Min(size, whole.Length - at))) all += found.Name + "=" + found.Data + "|";
            Check(all == "=one|x=two\n\n three|=four|=é|", "pieces of " + size + ": " + all);
        }
        Check(Throws<UnreachableException>(() => new EventParser().Push(new byte[70000].Select(_ => (byte)'x').ToArray(), 70000)), "a long line");
        var line = Encoding.UTF8.GetBytes("data: " + new string('x', 1000) + "\n");
        Check(Throws<UnreachableException>(() => { for (var parser = new EventParser(); ;) parser.Push(line, line.Length); }), "a long event");
    }

    static void PausesGrow()
    {
        var pacer = new Pacer(TimeSpan.FromMilliseconds(250), TimeSpan.FromSeconds(30));
        var interval = 250.0;
        for (var i = 0; i < 12; i++, interval = Math.Min(2 * interval, 30000))
        {
            var pause = pacer.Next().TotalMilliseconds;
            Check(pause >= interval / 2 - 1 && pause <= interval * 1.5 + 1, pause + " around " + interval);
        }
        pacer.Reset();
        var asked = pacer.NextAfter(new DirectorException("GET /", 503, new Document(null), name => name == "Retry-After" ? "86400" : null)).TotalMilliseconds;
        Check(asked >= 60124 && asked <= 60376, "Retry-After is bounded and added: " + asked);
        var now = new DateTimeOffset(2026, 11, 24, 12, 0, 0, TimeSpan.Zero);
        Check(DirectorException.ParseRetryAfter("7", now) == 7 && DirectorException.ParseRetryAfter("Tue, 24 Nov 2026 12:00:09 GMT", now) == 9, "seconds or a date");
        Check(DirectorException.ParseRetryAfter("Tue, 24 Nov 2026 11:00:00 GMT", now) == 0, "a past date");
        foreach (var text in new[] { null, "", "-1", "1.5", "soon", "99999999999" }) Check(DirectorException.ParseRetryAfter(text, now) == null, "no Retry-After: " + text);
    }

    static void UrlsAreChecked()
    {
        foreach (var url in new[] { "", "director.example", "ftp://a", "http://a?b", "http://a#b", "https://me:secret@a" })
            Check(Throws<ArgumentException>(() => new Replicas(new[] { url }, "http")), "refuses " + url);
        Check(Throws<ArgumentException>(() => new Replicas(new string[0], "http")), "none");
        var now = DateTime.UtcNow;
        var replicas = new Replicas(new[] { "https://a/eu/", "http://b" }, "http");
        var first = replicas.Pick(now);
        Check(replicas.Pick(now) != first && replicas.Pick(now) == first, "by turns");
        replicas.NoteFailure(first, now);
        Check(replicas.Pick(now) != first && replicas.Pick(now) != first, "a failed one is skipped");
        Check(first == "https://a/eu" || first == "http://b", first);
    }

    static string Followed(string address, string asked = "https://eu.example", string code = "region_elsewhere")
    {
        var problem = new Document(new Dictionary<string, object> { { "code", code }, { "region", "us" }, { "address", address } });
        return new Cells().Follow(asked, new DirectorException("POST /matchmake", 421, problem, name => null));
    }

    // Pins a token that is sent to an address which nobody may name, or in plain text.
    static void OnlyCellsAreFollowed()
    {
        Check(Followed("https://us.example/director/") == "https://us.example/director", "https");
        Check(Followed("http://us.example", "http://eu.example") == "http://us.example", "the same scheme");
        foreach (var address in new[] { "http://us.example", "ftp://us.example", "//us.example", "https://ada:secret@us.example", "https://us.example?x", "https://", "", "us", null })
            Check(Followed(address) == null, "not followed: " + address);
        Check(Followed("https://us.example", "https://eu.example", "") == null, "of a proxy");
    }

    static void RefusalsOfStrangersAreBounded()
    {
        var problem = new Document(Json.Parse("{\"code\":7,\"detail\":\"" + new string('d', 5000) + "\",\"errors\":\"none\",\"ticket_id\":{}}"));
        var error = new DirectorException("GET /", 418, problem, name => null);
        Check(error.Status == 418 && error.Code == "" && error.InvalidFields.Count == 0 && error.Detail.Length == 1000, "nonsense");
    }

    static void CoroutinesEnd()
    {
        var source = new System.Threading.Tasks.TaskCompletionSource<int>();
        var coroutine = source.Task.AsCoroutine();
        Check(coroutine.MoveNext() && coroutine.MoveNext(), "it waits");
        source.SetResult(1);
        Check(!coroutine.MoveNext(), "it ends");
    }
}
