using System.Collections;
using System.Threading.Tasks;

namespace LatticeDirector
{
    /// <summary>For programs that wait in coroutines: <c>yield return task.AsCoroutine();</c></summary>
    public static class CoroutineExtensions
    {
        /// <summary>Ends when the task does. Look at its Exception and then at its Result.</summary>
        public static IEnumerator AsCoroutine(this Task task)
        {
            while (!task.IsCompleted) yield return null;
        }
    }
}
