export default function ArtifactsPage() {
  return <section className="page" />;
}
