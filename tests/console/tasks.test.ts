/** The named tasks of the console: each has a test in a browser. */
import { expect, test } from 'bun:test'
import { readTestNames } from '../contract/test-names'
import { consoleTasks } from './tasks'

test('33 tasks of agents and 17 of admins are done by tests that exist', async () => {
  const names = await readTestNames()
  const tasks = consoleTasks()
  expect(tasks.filter(({ proof }) => !names.has(proof))).toEqual([])
  expect(Object.groupBy(tasks, ({ who }) => who).agent).toHaveLength(33)
  expect(Object.groupBy(tasks, ({ who }) => who).admin).toHaveLength(17)
  expect(new Set(tasks.map(({ task }) => task)).size).toBe(tasks.length)
})
