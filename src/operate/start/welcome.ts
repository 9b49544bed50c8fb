/** Greets the person who starts the service: where everything is, the generated password, and three first requests. */
import { config } from '../../base/config'
import { log } from '../../base/log'
import { forgetPassword, keptPassword, passwordFile } from './first-password'

/**
 * Prints to standard error, because standard output has the log only. Without a terminal it prints nothing, and a line
 * of the log says where a generated password is.
 * @param smtp_port where the SMTP listener is; undefined when it is off
 * @param email that of the first admin, when this start made one
 */
export function welcome(smtp_port: number | undefined, email: string | undefined): void {
  const password = keptPassword()
  if (process.stderr.isTTY) {
    process.stderr.write(banner(smtp_port, email, password))
    forgetPassword()
  } else if (password) {
    const file = passwordFile()
    log.warn({ file }, 'the password of the first admin was generated: read it in this file, then delete the file')
  }
}

function banner(smtp_port: number | undefined, email: string | undefined, password: string | undefined): string {
  const { BASE_URL } = config
  const lines = [
    '',
    'Deskwire is ready.',
    ...(config.CONSOLE === 'on' ? [`  Console        ${BASE_URL}/`] : []),
    `  API            ${BASE_URL}/api/v1`,
    ...(config.SWAGGER === 'on' ? [`  Documentation  ${BASE_URL}/swagger`] : []),
    `  Inbound mail   ${smtp_port === undefined ? 'off (SMTP_PORT=0)' : `smtp://${config.SMTP_HOSTNAME}:${smtp_port}`}`,
  ]
  if (email || password) lines.push(`  Admin          ${email ?? config.ADMIN_EMAIL}`)
  // The password stands on its own line: a copy of the first steps must not bring it into a shell's history.
  if (password) lines.push(`  Password       ${password}   (shown only now: change it at PATCH /auth/me)`)
  lines.push('', ...firstSteps(email ?? config.ADMIN_EMAIL), '')
  return `${lines.join('\n')}\n`
}

/** The shell reads the password, so that it stands in no history and in no list of processes. */
function firstSteps(email: string): string[] {
  const api = `${config.BASE_URL}/api/v1`
  return [
    'First steps (the first line waits for the password, and does not show it):',
    '  read -rs PASSWORD',
    `  TOKEN=$(printf '{"email":"${email}","password":"%s"}' "$PASSWORD" | curl -s ${api}/auth/login \\`,
    `    -H 'content-type: application/json' -d @- | sed 's/.*"access_token":"\\([^"]*\\)".*/\\1/')`,
    `  curl -s ${api}/mailboxes -H "authorization: Bearer $TOKEN" -H 'content-type: application/json' \\`,
    `    -d '{"address":"support@example.com"}'`,
    `  curl -s ${api}/tickets -H "authorization: Bearer $TOKEN"`,
  ]
}
