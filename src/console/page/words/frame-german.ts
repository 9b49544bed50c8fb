/** The frame, the sign-in and the small parts of every view, in German. */

import type { frameEnglish } from './frame-english'
import type { Translated } from './translated'

export const frameGerman: Translated<typeof frameEnglish> = {
  'ui.cancel': 'Abbrechen',
  'ui.close': 'Schließen',
  'ui.dismiss': 'Ausblenden',
  'ui.undo': 'Rückgängig',
  'ui.loading': 'Wird geladen …',
  'ui.show_more': 'Mehr zeigen',
  'ui.in_a_moment': 'gleich',
  'ui.just_now': 'gerade eben',
  'ui.none_fits': 'Nichts passt.',

  'frame.palette': 'Finden oder tun',
  'frame.palette_hint': 'Tippen Sie, was zu tun ist, oder Wörter eines Tickets',
  'frame.keys': 'Tastenkürzel',
  'frame.skip': 'Zum Inhalt springen',
  'frame.sections': 'Bereiche',
  'frame.inbox': 'Posteingang',
  'frame.account': 'Ihr Konto, {name}',
  'frame.sign_out': 'Abmelden',
  'frame.sign_out_question': 'Abmelden?',
  'frame.unsaved':
    'Etwas, das Sie geschrieben haben, konnte nicht gespeichert werden. Es geht verloren, wenn Sie sich abmelden.',
  'frame.no_organization': 'Sie sind in keiner Organisation mehr Mitglied. Ein Admin kann Sie wieder einladen.',

  'signals.notifications_on': 'Bei neuer Mail benachrichtigen',
  'signals.notifications_off': 'Keine Benachrichtigungen',
  'signals.sound_on': 'Mit Ton',
  'signals.sound_off': 'Ohne Ton',
  'signals.refused': 'Der Browser erlaubt keine Benachrichtigungen.',

  'sign_in.title': 'Anmelden',
  'sign_in.again': 'Wieder anmelden',
  'sign_in.ended': 'Ihre Sitzung ist beendet. Was Sie geschrieben haben, bleibt erhalten.',
  'sign_in.somebody_else': 'Verwerfen und als jemand anderes anmelden',
  'sign_in.code': 'Code',
  'sign_in.code_hint': '6 Ziffern Ihrer App oder ein Wiederherstellungscode',
  'sign_in.email': 'E-Mail',
  'sign_in.password': 'Passwort',
  'sign_in.provider': 'Beim Anbieter Ihrer Organisation anmelden',
  'sign_in.go_there': 'Dorthin',
  'sign_in.organization': 'Organisation',
  'sign_in.its_id': 'Ihre ID',
  'sign_in.forgot': 'Passwort vergessen?',
  'sign_in.wrong': 'E-Mail oder Passwort ist falsch.',
  'sign_in.wrong_code':
    'Dieser Code stimmt nicht oder wurde schon benutzt. Wenn keiner stimmt: abbrechen und neu anmelden.',
  'sign_in.too_many': 'Zu viele Versuche. Warten Sie einige Minuten.',
  'sign_in.answered': 'Der Dienst hat mit {status} geantwortet. Versuchen Sie es noch einmal.',
  'sign_in.no_provider': 'Diese Organisation hat keinen Identitätsanbieter.',
  'sign_in.too_long': 'Das hat zu lange gedauert. Versuchen Sie es noch einmal.',
  'sign_in.try_again': 'Versuchen Sie es noch einmal.',
  'sign_in.failed': 'Die Anmeldung ist fehlgeschlagen. Versuchen Sie es noch einmal.',
  'sign_in.not_allowed': 'Ihre Organisation lässt dieses Konto nicht ein.',
  'sign_in.invited':
    'Eine andere Organisation kennt Ihre Adresse. Sie haben eine Einladung per E-Mail: öffnen Sie den Link darin.',
  'sign_in.inactive': 'Ihr Konto ist abgeschaltet.',
  'sign_in.provider_error': 'Der Anbieter konnte nicht gefragt werden. Versuchen Sie es noch einmal.',

  'status.open': 'Offen',
  'status.pending': 'Wartend',
  'status.resolved': 'Gelöst',
  'status.closed': 'Geschlossen',
  'priority.low': 'Niedrig',
  'priority.normal': 'Normal',
  'priority.high': 'Hoch',
  'priority.urgent': 'Dringend',

  'trouble.unreachable': 'Der Dienst ist nicht erreichbar. Neuer Versuch …',
  'trouble.too_many': 'Zu viele Anfragen. Weiter in {seconds} s …',
  'trouble.unavailable': 'Der Dienst ist nicht verfügbar. Neuer Versuch in {seconds} s …',
  'refusal.signed_out': 'Nicht gesendet, weil Sie sich abgemeldet haben.',
  'refusal.unreachable': 'Der Dienst ist nicht erreichbar.',
  'refusal.unknown': 'Der Dienst hat mit {status} geantwortet.',
}
