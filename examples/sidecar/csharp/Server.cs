// A game server beside `director sidecar`, with the class library alone. Players send their session token as the first
// line; the game is an echo. It needs .NET Core 3.1 or newer: `dotnet run` here. In Unity, the class Sidecar works as it
// is from .NET Standard 2.1 on, with a JSON library.
using System;
using System.Collections.Concurrent;
using System.IO;
using System.Linq;
using System.Net;
using System.Net.Http;
using System.Net.Sockets;
using System.Text;
using System.Text.Json;
using System.Threading;
using System.Threading.Tasks;

/// <summary>The calls of the sidecar that a game server needs.</summary>
class Sidecar
{
    readonly HttpClient http;

    public Sidecar(string url) =>
        http = new HttpClient { BaseAddress = new Uri(url), Timeout = TimeSpan.FromSeconds(15) };

    /// <summary>Calls the sidecar. Returns the status and the answer; 503 also while the sidecar cannot be reached.</summary>
    public async Task<(int Status, JsonElement Answer)> Call(string method, string path, object body = null)
    {
        try
        {
            var content = new StringContent(JsonSerializer.Serialize(body ?? new { }), Encoding.UTF8, "application/json");
            var request = new HttpRequestMessage(new HttpMethod(method), path) { Content = content };
            using var answer = await http.SendAsync(request);
            var text = await answer.Content.ReadAsStringAsync();
            return ((int)answer.StatusCode, JsonDocument.Parse(text == "" ? "null" : text).RootElement);
        }
        catch (Exception e) when (e is HttpRequestException || e is OperationCanceledException)
        {
            var unavailable = new { code = "unavailable", detail = "the sidecar does not answer" };
            return (503, JsonDocument.Parse(JsonSerializer.Serialize(unavailable)).RootElement);
        }
    }

    /// <summary>Registers the game server. The director may be away for a while: 503 says try again.</summary>
    public async Task<JsonElement> Ready(object about)
    {
        for (; ; await Task.Delay(1000))
        {
            var (status, answer) = await Call("POST", "/ready", about);
            if (status == 200) return answer;
            if (status != 503) throw new Exception("not registered: " + answer.GetProperty("detail").GetString());
        }
    }

    /// <summary>Calls handle with each event, for ever. A new stream begins with the current state.</summary>
    public async Task Events(Func<string, JsonElement, Task> handle)
    {
        for (; ; await Task.Delay(1000))
        {
            try
            {
                using var stream = new StreamReader(await http.GetStreamAsync("/events"));
                for (string line, name = ""; (line = await stream.ReadLineAsync()) != null;)
                {
                    if (line.StartsWith("event: ")) name = line.Substring(7);
                    if (line.StartsWith("data: ")) await handle(name, JsonDocument.Parse(line.Substring(6)).RootElement);
                }
            }
            catch (Exception e) when (e is HttpRequestException || e is IOException || e is OperationCanceledException) { }
        }
    }
}

class Server
{
    readonly Sidecar sidecar = new Sidecar(Environment.GetEnvironmentVariable("SIDECAR") ?? "http://127.0.0.1:9357");
    // By the id of a player.
    readonly ConcurrentDictionary<string, TcpClient> connections = new ConcurrentDictionary<string, TcpClient>();
    // The ids of players who may not play on.
    readonly ConcurrentDictionary<string, bool> kicked = new ConcurrentDictionary<string, bool>();
    object about; // what the game server registers with

    static Task Main() => new Server().Run();

    async Task Run()
    {
        var listener = new TcpListener(IPAddress.Loopback, int.Parse(Environment.GetEnvironmentVariable("PORT") ?? "0"));
        listener.Start();
        var endpoint = listener.LocalEndpoint.ToString();
        about = new { region = "local", modes = new[] { "duel" }, capacity = 64, endpoint };
        Console.WriteLine("registered: " + (await sidecar.Ready(about)).GetProperty("instance_id").GetString());
        // A real game calls this in its game loop, so that a frozen loop counts as a frozen game server.
        using var health = new Timer(async state => await sidecar.Call("POST", "/health"), null, 0, 5000);
        _ = sidecar.Events(HandleEvent);
        for (; ; ) _ = Play(await listener.AcceptTcpClientAsync());
    }

    async Task Play(TcpClient connection)
    {
        var lines = new StreamReader(connection.GetStream());
        var answers = new StreamWriter(connection.GetStream()) { AutoFlush = true, NewLine = "\n" };
        string id = null;
        try
        {
            var token = await lines.ReadLineAsync() ?? "";
            var (status, player) = await sidecar.Call("POST", "/players", new { token });
            if (status != 200)
            {
                await answers.WriteLineAsync("refused: " + player.GetProperty("code").GetString());
                return;
            }
            id = player.GetProperty("id").GetString();
            connections[id] = connection;
            var (sub, mode) = (player.GetProperty("sub"), player.GetProperty("mode"));
            await answers.WriteLineAsync($"welcome {sub} to a {mode} for {player.GetProperty("max_players")}");
            if (kicked.ContainsKey(id)) return;
            for (string line; (line = await lines.ReadLineAsync()) != null;) await answers.WriteLineAsync("you said: " + line);
        }
        // The connection broke, or was closed by a kick.
        catch (Exception e) when (e is IOException || e is ObjectDisposedException) { }
        finally
        {
            connection.Close();
            if (id != null && connections.TryRemove(id, out _)) await sidecar.Call("DELETE", "/players/" + id);
            if (id != null) kicked.TryRemove(id, out _);
        }
    }

    /// <summary>Disconnects a player. Play finds in kicked one whose connection is not in connections yet.</summary>
    void Kick(string id)
    {
        kicked[id] = true;
        if (connections.TryGetValue(id, out var connection)) connection.Close();
    }

    /// <summary>
    /// Kicks the players who are not admitted any more: this process did not receive the kicks before the stream began.
    /// </summary>
    async Task KickOthers()
    {
        var here = connections.Keys;
        var (status, answer) = await sidecar.Call("GET", "/players");
        if (status != 200) return;
        var players = answer.GetProperty("players").EnumerateArray();
        var admitted = players.Select(p => p.GetProperty("id").GetString()).ToHashSet();
        foreach (var id in here.Where(id => !admitted.Contains(id))) Kick(id);
    }

    async Task HandleEvent(string name, JsonElement data)
    {
        if (name == "kick") Kick(data.GetProperty("id").GetString());
        if (name == "players") await KickOthers();
        if (name != "status") return;
        switch (data.GetProperty("state").GetString())
        {
            case "ended":
            case "superseded":
                Console.WriteLine("over: " + data.GetProperty("state").GetString());
                Environment.Exit(0);
                break;
            case "unhealthy": // this process was frozen, and runs again
                await sidecar.Ready(about);
                break;
            default:
                var isUnwanted = data.TryGetProperty("unwanted", out var value) && value.ValueKind != JsonValueKind.False;
                if (isUnwanted) await sidecar.Call("POST", "/shutdown");
                break;
        }
    }
}
