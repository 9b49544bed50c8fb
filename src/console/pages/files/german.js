/** The texts of both pages in German, by what they are in English. */
export const german = {
  Accept: 'Annehmen',
  'Code of your app, or a recovery code': 'Code Ihrer App oder ein Wiederherstellungscode',
  Decline: 'Ablehnen',
  Email: 'E-Mail',
  'Email of your account': 'E-Mail Ihres Kontos',
  'Empty: as the invitation names you': 'Leer: wie die Einladung Sie nennt',
  'Forgot your password?': 'Passwort vergessen?',
  'If there is an account with this email, a link is on its way to it. It works for an hour.':
    'Wenn es ein Konto mit dieser E-Mail gibt, ist ein Link dorthin unterwegs. Er gilt eine Stunde.',
  Invitation: 'Einladung',
  'Leave {name}': '{name} verlassen',
  'Leave those that you do not know. A program that names no organization acts in the first one.':
    'Verlassen Sie die, die Sie nicht kennen. Ein Programm, das keine Organisation nennt, handelt in der ersten.',
  'Loading …': 'Wird geladen …',
  'New password': 'Neues Passwort',
  'New password, at least 8 characters': 'Neues Passwort, mindestens 8 Zeichen',
  'Open the link of the email that invites you.': 'Öffnen Sie den Link der E-Mail, die Sie einlädt.',
  'Send me a link': 'Link zusenden',
  'Set the password': 'Passwort setzen',
  'Sign in': 'Anmelden',
  'The new password is set. Sign in with it.': 'Das neue Passwort gilt. Melden Sie sich damit an.',
  'The password is not that of your account, or the code is not right.':
    'Das Passwort ist nicht das Ihres Kontos, oder der Code stimmt nicht.',
  'The password of your account': 'Das Passwort Ihres Kontos',
  'The present password of your account': 'Das jetzige Passwort Ihres Kontos',
  'The service cannot be reached. Try again.': 'Der Dienst ist nicht erreichbar. Versuchen Sie es noch einmal.',
  'This link is not valid: it was used, taken back or replaced by a newer one.':
    'Dieser Link gilt nicht: Er wurde benutzt, zurückgenommen oder durch einen neueren ersetzt.',
  'This link is too old. Ask for a new one.': 'Dieser Link ist zu alt. Fragen Sie nach einem neuen.',
  'This page needs JavaScript.': 'Diese Seite braucht JavaScript.',
  'Too many attempts. Wait some minutes and try again.': 'Zu viele Versuche. Warten Sie einige Minuten.',
  'You are a member now.': 'Sie sind jetzt Mitglied.',
  'You declined the invitation.': 'Sie haben die Einladung abgelehnt.',
  'You left {name}.': 'Sie haben {name} verlassen.',
  'Your account has a second factor: enter a code, too.':
    'Ihr Konto hat einen zweiten Faktor: Geben Sie auch einen Code ein.',
  'Your name': 'Ihr Name',
  'Your organizations': 'Ihre Organisationen',
  '{name} invites you to work on its support tickets as {role}.':
    '{name} lädt Sie ein, als {role} an Support-Tickets zu arbeiten.',
  admin: 'Admin',
  agent: 'Agent',
}
