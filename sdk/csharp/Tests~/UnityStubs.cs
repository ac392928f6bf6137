// The declarations of Unity that the package and its sample use, so that Mono's compiler checks both. Nothing here runs.
using System;

namespace UnityEngine
{
    public class MonoBehaviour { }
    public class SerializeField : Attribute { }
    public static class Debug
    {
        public static void Log(object message) { }
        public static void LogError(object message) { }
    }
    public static class Time { public static float realtimeSinceStartup => 0; }
    public static class Application { public static void Quit() { } }
}

namespace UnityEngine.Networking
{
    public class UploadHandler { }
    public class UploadHandlerRaw : UploadHandler { public UploadHandlerRaw(byte[] data) { } }
    public class DownloadHandler { }
    public class DownloadHandlerScript : DownloadHandler { protected virtual bool ReceiveData(byte[] data, int length) => true; }
    public class UnityWebRequestAsyncOperation { }
    public class UnityWebRequest : IDisposable
    {
        public enum Result { InProgress, Success, ConnectionError, ProtocolError, DataProcessingError }
        public UnityWebRequest(string url, string method) { }
        public DownloadHandler downloadHandler { get; set; }
        public UploadHandler uploadHandler { get; set; }
        public int redirectLimit { get; set; }
        public long responseCode => 0;
        public bool isDone => true;
        public string error => "";
        public Result result => Result.Success;
        public string GetResponseHeader(string name) => null;
        public void SetRequestHeader(string name, string value) { }
        public UnityWebRequestAsyncOperation SendWebRequest() => null;
        public void Abort() { }
        public void Dispose() { }
    }
}
