#if UNITY_2021_3_OR_NEWER
using System;
using System.Collections.Generic;
using System.Text;
using System.Threading;
using System.Threading.Tasks;
using UnityEngine;
using UnityEngine.Networking;

namespace LatticeDirector
{
    /// <summary>
    /// The transport of Unity, also for browsers, which have neither threads nor the framework's HTTP. Use it on the main thread:
    /// <c>new DirectorOptions { Transport = new UnityTransport() }</c>.
    /// </summary>
    public sealed class UnityTransport : ITransport
    {
        /// <inheritdoc/>
        public async Task<IHttpAnswer> SendAsync(HttpCall call, CancellationToken cancel)
        {
            var answer = new Answer(call);
            try
            {
                await answer.HeadAsync(cancel);
                return answer;
            }
            catch
            {
                answer.Dispose();
                throw;
            }
        }

        /// <inheritdoc/>
        public async Task DelayAsync(TimeSpan time, CancellationToken cancel)
        {
            for (var end = Time.realtimeSinceStartup + time.TotalSeconds; Time.realtimeSinceStartup < end;) await NextFrameAsync(cancel);
        }

        static async Task NextFrameAsync(CancellationToken cancel)
        {
            cancel.ThrowIfCancellationRequested();
            await Task.Yield(); // Unity goes on in the next frame
        }

        sealed class Answer : IHttpAnswer
        {
            readonly UnityWebRequest web;
            readonly Pieces pieces = new Pieces();

            internal Answer(HttpCall call)
            {
                web = new UnityWebRequest(call.Url, call.Method) { downloadHandler = pieces, redirectLimit = 0 };
                foreach (var header in call.Headers) web.SetRequestHeader(header.Key, header.Value);
                if (call.Body != null)
                {
                    web.uploadHandler = new UploadHandlerRaw(Encoding.UTF8.GetBytes(call.Body));
                    web.SetRequestHeader("Content-Type", "application/json");
                }
                web.SendWebRequest();
            }

            public int Status => (int)web.responseCode;

            public string Header(string name) => web.GetResponseHeader(name);

            internal async Task HeadAsync(CancellationToken cancel)
            {
                while (!web.isDone && !pieces.HasAny) await NextFrameAsync(cancel);
                if (web.responseCode == 0) throw new InvalidOperationException(web.error);
            }

            public async Task<int> ReadAsync(byte[] buffer, CancellationToken cancel)
            {
                while (!web.isDone && !pieces.HasAny) await NextFrameAsync(cancel);
                if (!pieces.HasAny && web.result == UnityWebRequest.Result.ConnectionError) throw new InvalidOperationException(web.error);
                return pieces.Take(buffer);
            }

            public void Dispose()
            {
                web.Abort();
                web.Dispose();
            }
        }

        /// <summary>What has arrived and was not read. A stranger that sends faster than a frame reads is cut off.</summary>
        sealed class Pieces : DownloadHandlerScript
        {
            const int Most = 4 << 20;

            readonly Queue<byte[]> all = new Queue<byte[]>();
            int first, size;

            internal bool HasAny => size > 0;

            protected override bool ReceiveData(byte[] data, int length)
            {
                var piece = new byte[length];
                Buffer.BlockCopy(data, 0, piece, 0, length);
                if (length > 0) all.Enqueue(piece);
                size += length;
                return size <= Most;
            }

            internal int Take(byte[] buffer)
            {
                if (all.Count == 0) return 0;
                var piece = all.Peek();
                var n = Math.Min(buffer.Length, piece.Length - first);
                Buffer.BlockCopy(piece, first, buffer, 0, n);
                first += n;
                size -= n;
                if (first < piece.Length) return n;
                all.Dequeue();
                first = 0;
                return n;
            }
        }
    }
}
#endif
