using System;
using System.Collections.Generic;
using System.IO;
using System.Net.Http;
using System.Text;
using System.Threading;
using System.Threading.Tasks;

namespace LatticeDirector
{
    /// <summary>A request over HTTP.</summary>
    public sealed class HttpCall
    {
        /// <summary>GET, POST, PUT or DELETE.</summary>
        public string Method;
        /// <summary>The whole URL.</summary>
        public string Url;
        /// <summary>Names and values. They contain tokens: do not log them.</summary>
        public Dictionary<string, string> Headers;
        /// <summary>JSON; null: none.</summary>
        public string Body;
    }

    /// <summary>An answer whose head has arrived. Its end closes the connection.</summary>
    public interface IHttpAnswer : IDisposable
    {
        /// <summary>The status of HTTP.</summary>
        int Status { get; }
        /// <summary>Returns a header by its name in any case; null if there is none.</summary>
        string Header(string name);
        /// <summary>Reads a piece of the body, as it arrives. Returns 0 at the end. Throws when the connection breaks or the token is cancelled.</summary>
        Task<int> ReadAsync(byte[] buffer, CancellationToken cancel);
    }

    /// <summary>
    /// What the package needs of a platform. An implementation verifies certificates, follows no redirect, keeps no cookies and logs no
    /// headers. Where the platform has threads, it may be called on any.
    /// </summary>
    public interface ITransport
    {
        /// <summary>Sends a request and returns when the head of the answer has arrived. Throws when there is none, and when the token is cancelled.</summary>
        Task<IHttpAnswer> SendAsync(HttpCall call, CancellationToken cancel);
        /// <summary>Waits. Throws when the token is cancelled.</summary>
        Task DelayAsync(TimeSpan time, CancellationToken cancel);
    }

    /// <summary>The transport of the framework, for all platforms but browsers.</summary>
    public sealed class HttpClientTransport : ITransport
    {
        /// <summary>Shared, as its connections are.</summary>
        public static readonly HttpClientTransport Default = new HttpClientTransport();

        // Some frameworks allow two connections to a host, which two watched tickets occupy.
        readonly HttpClient http = new HttpClient(new HttpClientHandler { AllowAutoRedirect = false, UseCookies = false, MaxConnectionsPerServer = 64 })
        {
            Timeout = Timeout.InfiniteTimeSpan,
        };

        /// <inheritdoc/>
        public async Task<IHttpAnswer> SendAsync(HttpCall call, CancellationToken cancel)
        {
            var request = new HttpRequestMessage(new HttpMethod(call.Method), call.Url);
            foreach (var header in call.Headers) request.Headers.TryAddWithoutValidation(header.Key, header.Value);
            if (call.Body != null) request.Content = new StringContent(call.Body, new UTF8Encoding(false), "application/json");
            var response = await http.SendAsync(request, HttpCompletionOption.ResponseHeadersRead, cancel);
            return new Answer { Response = response, Body = await response.Content.ReadAsStreamAsync() };
        }

        /// <inheritdoc/>
        public Task DelayAsync(TimeSpan time, CancellationToken cancel) => Task.Delay(time, cancel);

        sealed class Answer : IHttpAnswer
        {
            internal HttpResponseMessage Response;
            internal Stream Body;

            public int Status => (int)Response.StatusCode;

            public string Header(string name)
            {
                if (Response.Headers.TryGetValues(name, out var values) || Response.Content.Headers.TryGetValues(name, out values)) return string.Join(", ", values);
                return null;
            }

            public async Task<int> ReadAsync(byte[] buffer, CancellationToken cancel)
            {
                // Mono's streams do not end a read when a token is cancelled, but when they are closed.
                using (cancel.Register(Dispose)) return await Body.ReadAsync(buffer, 0, buffer.Length, cancel);
            }

            public void Dispose()
            {
                Body.Dispose();
                Response.Dispose();
            }
        }
    }
}
