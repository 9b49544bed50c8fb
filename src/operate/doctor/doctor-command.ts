/** The command doctor. What it needs is imported when it runs: other commands start without it. */
import type { Command, Options } from '../start/command-line'

export const DOCTOR_COMMAND: Command = {
  name: 'doctor',
  options: '[--json] [--records]',
  meaning:
    'Looks for what is wrong, and says what to do. Changes nothing. Ends with 1 when there is an error; warnings alone end with 0. --records prints the DNS records of all mail domains, ready to paste, and ends with 1 when one is not there.',
  needs: 'nothing',
  run: diagnose,
}

async function diagnose({ json, records }: Options): Promise<string> {
  const run = records ? (await import('./records/print-records')).runRecords : (await import('./command')).runDoctor
  const { output, exit_code } = await run(json ? 'json' : 'text')
  process.exitCode = exit_code
  return output
}
