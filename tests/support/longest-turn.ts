/** Measures how long work holds the loop. */

/** @returns the longest turn of the loop while `work` goes on, in ms of the process's processor time */
export async function longestTurn(work: () => Promise<unknown>): Promise<number> {
  let longest = 0
  let before = process.cpuUsage()
  const end = () => {
    const { user, system } = process.cpuUsage(before)
    longest = Math.max(longest, (user + system) / 1000)
    before = process.cpuUsage()
  }
  let next = setImmediate(function turn() {
    end()
    next = setImmediate(turn)
  })
  await work()
  end()
  clearImmediate(next)
  return longest
}
