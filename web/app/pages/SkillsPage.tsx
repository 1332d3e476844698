export default function SkillsPage() {
  return <section className="page" />;
}
