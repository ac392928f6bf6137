using System;
using System.Threading;
using System.Threading.Tasks;
using LatticeDirector;
using UnityEngine;

/// <summary>Queues, accepts the match and says where to connect. Paste the access token of `director token mint`.</summary>
public class FirstPlayer : MonoBehaviour
{
    [SerializeField] string director = "http://127.0.0.1:8080";
    [SerializeField] string accessToken = "";
    [SerializeField] string profile = "first";

    readonly CancellationTokenSource leave = new CancellationTokenSource();
    Player player;

    async void Start()
    {
        player = new Player(new DirectorOptions
        {
            Urls = new[] { director },
            TokenSource = refresh => Task.FromResult(accessToken), // your login's
            Transport = new UnityTransport(),
            OnRetry = retry => Debug.Log("reconnecting: " + retry.Error.Message),
        });
        try { await Play(); }
        catch (OperationCanceledException) { } // the scene has ended
        catch (DirectorException error) { Debug.LogError(error.Code + ": " + error.Detail); }
    }

    async Task Play()
    {
        var ticket = await player.QueueAsync(new TicketRequest { Profiles = new[] { profile } }, leave.Token);
        await ticket.WatchAsync(async status =>
        {
            Debug.Log(status.State + ", place " + status.Place);
            if (status.State == "accepting") await ticket.AcceptAsync(status.MatchId, leave.Token);
        }, leave.Token);
        if (ticket.Status.State != "assigned") return;
        var connection = await player.ResolveAsync(ticket.Status.SessionHandle, leave.Token);
        Debug.Log("connect to " + connection.Endpoint + " and show it connection.SessionToken");
    }

    void OnDestroy() => leave.Cancel();
}
