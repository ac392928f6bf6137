using System;
using System.IO;
using System.Net.WebSockets;
using System.Text;
using System.Threading;
using System.Threading.Tasks;

namespace LatticeDirector
{
    /// <summary>A WebSocket. Its end closes the connection.</summary>
    public interface ILobbySocket : IDisposable
    {
        /// <summary>The code of the close frame; 1006: there was none.</summary>
        int CloseCode { get; }
        /// <summary>Sends a text. One call at a time.</summary>
        Task SendAsync(string text, CancellationToken cancel);
        /// <summary>Returns the next text; null once the connection has ended.</summary>
        Task<string> ReceiveAsync(CancellationToken cancel);
    }

    /// <summary>The WebSocket of the framework, for all platforms but browsers.</summary>
    public sealed class ClientLobbySocket : ILobbySocket
    {
        const int MaxFrame = 1 << 20; // a longer frame is not the director's

        readonly ClientWebSocket socket = new ClientWebSocket();

        /// <inheritdoc/>
        public int CloseCode => (int)(socket.CloseStatus ?? (WebSocketCloseStatus)1006);

        /// <summary>Connects.</summary>
        public static async Task<ILobbySocket> ConnectAsync(Uri url, CancellationToken cancel)
        {
            var connected = new ClientLobbySocket();
            try
            {
                await connected.socket.ConnectAsync(url, cancel);
                return connected;
            }
            catch
            {
                connected.Dispose();
                throw;
            }
        }

        /// <inheritdoc/>
        public Task SendAsync(string text, CancellationToken cancel)
            => socket.SendAsync(new ArraySegment<byte>(Encoding.UTF8.GetBytes(text)), WebSocketMessageType.Text, true, cancel);

        /// <inheritdoc/>
        public async Task<string> ReceiveAsync(CancellationToken cancel)
        {
            var whole = new MemoryStream();
            var buffer = new ArraySegment<byte>(new byte[16 << 10]);
            for (; ; )
            {
                var piece = await socket.ReceiveAsync(buffer, cancel);
                if (piece.MessageType == WebSocketMessageType.Close) return null;
                whole.Write(buffer.Array, 0, piece.Count);
                if (whole.Length > MaxFrame) return null;
                if (piece.EndOfMessage) return Encoding.UTF8.GetString(whole.GetBuffer(), 0, (int)whole.Length);
            }
        }

        /// <inheritdoc/>
        public void Dispose() => socket.Dispose();
    }
}
