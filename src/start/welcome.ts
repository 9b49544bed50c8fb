/** Greets the person who starts the service: where everything is, the generated password, and three first requests. */
import { config } from '../config'

/**
 * Prints to standard error, because standard output has the log only.
 * @param smtp_port where the SMTP listener is; undefined when it is off
 * @param admin the first admin, when this start made one; `password` is null unless it was generated
 */
export function welcome(
  smtp_port: number | undefined,
  admin: { email: string; password: string | null } | undefined,
): void {
  const { BASE_URL } = config
  const lines = [
    '',
    'Deskwire is ready.',
    `  API            ${BASE_URL}/api/v1`,
    `  Documentation  ${BASE_URL}/swagger`,
    `  Inbound mail   ${smtp_port === undefined ? 'off (SMTP_PORT=0)' : `smtp://${config.SMTP_HOSTNAME}:${smtp_port}`}`,
  ]
  if (admin) lines.push(`  Admin          ${admin.email}`)
  if (admin?.password) lines.push(`  Password       ${admin.password}   (shown only now)`)
  const email = admin?.email ?? config.ADMIN_EMAIL
  const password = admin?.password ?? '<password>'
  lines.push('', ...firstSteps(email, password), '')
  process.stderr.write(`${lines.join('\n')}\n`)
}

function firstSteps(email: string, password: string): string[] {
  const api = `${config.BASE_URL}/api/v1`
  return [
    'First steps:',
    `  TOKEN=$(curl -s ${api}/auth/login -H 'content-type: application/json' \\`,
    `    -d '{"email":"${email}","password":"${password}"}' | sed 's/.*"access_token":"\\([^"]*\\)".*/\\1/')`,
    `  curl -s ${api}/mailboxes -H "authorization: Bearer $TOKEN" -H 'content-type: application/json' \\`,
    `    -d '{"address":"support@example.com"}'`,
    `  curl -s ${api}/tickets -H "authorization: Bearer $TOKEN"`,
  ]
}
