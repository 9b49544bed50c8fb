/** Ends a process because of an error, with words for the operator and the right exit status. */
import { config, lastLine } from '../../base/config'
import { OperatorError } from '../../base/errors'

/**
 * Prints one line to standard error and exits: with 78 (EX_CONFIG) for a wrong setting, with 2 for an unknown command,
 * else with 1.
 * @param explain makes the line for an error that was not written for the operator
 */
export function exitWith(error: unknown, explain: (error: unknown) => string): never {
  const is_for_operator = error instanceof OperatorError
  process.stderr.write(lastLine(is_for_operator ? error.message : explain(error), config.LOG_FORMAT))
  process.exit(is_for_operator ? error.exit_code : 1)
}
