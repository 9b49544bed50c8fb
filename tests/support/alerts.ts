/** Reads the alert rules and the dashboard of the guide. */
import fs from 'node:fs'
import path from 'node:path'

const FOLDER = path.join(import.meta.dirname, '../../src/guide/operate')

type Rule = {
  alert: string
  expr: string
  labels: { severity: string }
  annotations: { summary: string; action: string; well: string; runbook: string }
}

export function readRules(): Rule[] {
  const file = Bun.YAML.parse(fs.readFileSync(path.join(FOLDER, 'alerts.yml'), 'utf8'))
  return (file as { groups: { rules: Rule[] }[] }).groups.flatMap(({ rules }) => rules)
}

type Dashboard = { panels: { type: string; title: string; targets?: { expr: string }[] }[] }

/** All queries of the rules and the dashboard. */
export function readQueries(): string[] {
  const dashboard = JSON.parse(fs.readFileSync(path.join(FOLDER, 'dashboard.json'), 'utf8')) as Dashboard
  const shown = dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))
  return [...readRules().map(({ expr }) => expr), ...shown]
}
