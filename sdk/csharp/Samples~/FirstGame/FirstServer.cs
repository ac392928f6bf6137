using System.Collections.Generic;
using LatticeDirector;
using UnityEngine;

/// <summary>A dedicated server beside `director sidecar`. Call Join with what a player sends first, and Leave when it disconnects.</summary>
public class FirstServer : MonoBehaviour
{
    [SerializeField] string endpoint = "127.0.0.1:7777";

    readonly Sidecar sidecar = new Sidecar();
    readonly Dictionary<string, string> players = new Dictionary<string, string>(); // subs by the id of their admission
    ServerOffer offer;
    float lastHealth;

    async void Start()
    {
        offer = new ServerOffer { Endpoint = endpoint, Region = "local", Modes = new[] { "duel" }, Capacity = 64 };
        sidecar.Kicked += (id, reason) => Disconnect(id);
        sidecar.StatusChanged += async status =>
        {
            if (status.State == "unhealthy") await sidecar.ReadyAsync(offer); // the game was frozen, and goes on
            if (status.IsUnwanted) await sidecar.ShutdownAsync();
        };
        await sidecar.ReadyAsync(offer);
        await sidecar.ListenAsync();
        Application.Quit();
    }

    async void Update()
    {
        if (Time.realtimeSinceStartup - lastHealth < 5) return;
        lastHealth = Time.realtimeSinceStartup;
        await sidecar.HealthAsync(); // a frozen game does not come here
    }

    public async void Join(string sessionToken)
    {
        try
        {
            var player = await sidecar.AdmitAsync(sessionToken);
            players[player.Id] = player.Sub;
        }
        catch (DirectorException error) { Debug.Log("refused: " + error.Code); }
    }

    public async void Leave(string id)
    {
        if (players.Remove(id)) await sidecar.LeaveAsync(id);
    }

    void Disconnect(string id) => players.Remove(id); // and close its connection
}
